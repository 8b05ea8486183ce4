"""Evidence recall on LoCoMo, per turn: BM25 only, vectors only, hybrid, and hybrid reranked by the trained reader, with
the gate off and on.

    python -m eval.experiments.retrieval.recall --data DIR

Settings were tuned on even-indexed conversations only; claims quote the odd ones. "Gate off" writes every message;
"gate on" defers as configured, where deferred messages stay searchable; "gate on, deferred not embedded" saves their
embeddings too.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from eval.metrics.retrieval_metrics import mean, recall_at
from eval.tasks.locomo import Conversation, Question, load
from nscma_torch import Memory, load_config

_KS = (5, 10, 20)
_BOTH = ["lexical", "vector"]
_SEARCHES: dict[str, dict[str, Any]] = {
    "BM25 only": {"lanes": ["lexical"]},
    "vectors only": {"lanes": ["vector"]},
    "hybrid": {"lanes": _BOTH},
    "hybrid, read": {"lanes": _BOTH, "strategy": "rerank", "reranker": "reader"},
}
_GATES: dict[str, dict[str, Any]] = {
    "off": {"gate": {"rule": "everything"}},
    "on": {},
    "on, deferred not embedded": {"embedder": {"deferred": False}},
}


Rows = dict[str, list[list[float]]]  # per half of the data, one list of recalls a question


def measure(
    conversation: Conversation, gate: Mapping[str, Any], fusion: str
) -> tuple[dict[str, list[list[float]]], float]:
    """Recalls of each question by lane setting, and the share of messages that the gate deferred."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "recall.db"
        with Memory(store, config=load_config(gate)) as memory:
            added = list(memory.add_many(conversation.messages, user_id="reader"))
        place = {item.id: i for i, item in enumerate(added)}
        deferred = mean([not (item.decision and item.decision.write) for item in added])
        recalls: dict[str, list[list[float]]] = {}
        for name, search in _SEARCHES.items():
            settings = load_config({**gate, "retrieval": {**search, "fusion": fusion}})
            with Memory(store, config=settings) as memory:
                recalls[name] = [_recalls(memory, conversation, question, place) for question in conversation.questions]
    return recalls, deferred


def _recalls(memory: Memory, conversation: Conversation, question: Question, place: Mapping[str, int]) -> list[float]:
    hits = memory.search(question.text, user_id="reader", top_k=2 * max(_KS), now=conversation.asked_at)
    turns = list(dict.fromkeys(place[hit.id] for hit in hits))
    return [recall_at(turns, question.evidence, k) for k in _KS]


def main() -> None:
    """Print one row for each gate and lane setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/")
    parser.add_argument("--fusion", default="relative", help="fusion of the hybrid rows: relative or rrf")
    parser.add_argument("--gates", nargs="+", choices=_GATES, default=list(_GATES), help="gate settings to run")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    conversations = load(arguments.data)
    console = Console(width=160)
    console.print(f"malformed evidence, dropped: {[item for c in conversations for item in c.malformed]}")
    halves = ("even", "odd", "all")
    table = Table("gate", "lanes", "deferred", *(f"{half} R@{k}" for half in halves for k in _KS))
    for gate in arguments.gates:
        rows: dict[str, Rows] = {name: {half: [] for half in halves} for name in _SEARCHES}
        shares: list[float] = []
        for index, conversation in enumerate(conversations):
            measured, share = measure(conversation, _GATES[gate], arguments.fusion)
            shares += [share] * len(conversation.messages)
            for name, values in measured.items():
                rows[name]["odd" if index % 2 else "even"] += values
                rows[name]["all"] += values
        for name, by_half in rows.items():
            cells = [f"{mean([v[i] for v in by_half[half]]):.3f}" for half in halves for i in range(len(_KS))]
            table.add_row(gate, name, f"{mean(shares):.1%}", *cells)
    console.print(table)
    console.print(f"{sum(len(c.questions) for c in conversations)} questions; columns are means over questions")


if __name__ == "__main__":
    main()
