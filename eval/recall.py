"""Evidence recall on LoCoMo, per turn: BM25 only, vectors only and hybrid, with the gate off and on.

    python -m eval.recall --data DIR

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

from rich.console import Console
from rich.table import Table

from eval.metrics import mean, recall_at
from eval.tasks.locomo import Conversation, load
from nscma_torch import Memory, load_config

_KS = (5, 10, 20)
_LANES = {"BM25 only": ["lexical"], "vectors only": ["vector"], "hybrid": ["lexical", "vector"]}
_GATES: dict[str, dict[str, Any]] = {
    "off": {"gate": {"rule": "everything"}},
    "on": {},
    "on, deferred not embedded": {"embedder": {"deferred": False}},
}


def ranked_turns(
    conversation: Conversation, settings: Mapping[str, Any], folder: Path
) -> tuple[list[list[int]], float]:
    """The turns that each question finds, best first, and the share of messages that the gate deferred."""
    with Memory(folder / "recall.db", config=load_config(settings)) as memory:
        added = list(memory.add_many(conversation.messages, user_id="reader"))
        place = {item.id: i for i, item in enumerate(added)}
        deferred = mean([not (item.decision and item.decision.write) for item in added])
        found = [
            memory.search(question.text, user_id="reader", top_k=max(_KS), now=conversation.asked_at)
            for question in conversation.questions
        ]
    return [list(dict.fromkeys(place[hit.id] for hit in hits)) for hits in found], deferred


def main() -> None:
    """Print one row for each lane and gate setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/")
    parser.add_argument("--fusion", default="relative", help="fusion of the hybrid rows: relative or rrf")
    conversations = load(parser.parse_args().data)
    fusion = parser.parse_args().fusion
    malformed = [item for conversation in conversations for item in conversation.malformed]
    console = Console(width=150)
    console.print(f"malformed evidence, dropped: {malformed}")
    table = Table("gate", "lanes", "deferred", *(f"{half} R@{k}" for half in ("even", "odd", "all") for k in _KS))
    for gate, gate_settings in _GATES.items():
        for name, lanes in _LANES.items():
            settings = {**gate_settings, "retrieval": {"lanes": lanes, "fusion": fusion}}
            recalls: dict[str, list[list[float]]] = {"even": [], "odd": [], "all": []}
            shares: list[float] = []
            for index, conversation in enumerate(conversations):
                with tempfile.TemporaryDirectory() as folder:
                    ranked, share = ranked_turns(conversation, settings, Path(folder))
                shares += [share] * len(conversation.messages)
                for turns, question in zip(ranked, conversation.questions, strict=True):
                    values = [recall_at(turns, question.evidence, k) for k in _KS]
                    recalls["odd" if index % 2 else "even"].append(values)
                    recalls["all"].append(values)
            cells = [f"{mean(column):.3f}" for half in recalls.values() for column in zip(*half, strict=True)]  # type: ignore[arg-type]
            table.add_row(gate, name, f"{mean(shares):.1%}", *cells)
    console.print(table)
    console.print(f"{sum(len(c.questions) for c in conversations)} questions; columns are means over questions")


if __name__ == "__main__":
    main()
