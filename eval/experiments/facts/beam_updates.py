"""BEAM 100K: is the updated statement found, and before the original one? Do contradictory statements come together?

    python -m eval.experiments.facts.beam_updates --data DIR [--cache DIR]

Messages are ranked by their best chunk; k = 10. `found`: a message of the update is in the top k. `first`: it is, and
no message of the original comes before it; a missing one is a miss. `newest first`: the same after the top k are
sorted by date, newest first. `both`: a message of each of two contradictory statements is in the top k. Pairs whose
two sides share a message say nothing about order or togetherness: they count in `found` alone. The last row is what
`Memory.search` does unless it is told otherwise; the others are single-step search. Choices were made on chats with an
even index; claims quote the odd ones.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from eval.caches.embedding_cache import CachedEmbedder
from eval.harness.fakes import IndifferentProxy
from eval.metrics.retrieval_metrics import mean
from eval.tasks.beam import Chat, Pair, load
from nscma_torch import Memory, load_config
from nscma_torch.device import torch_device
from nscma_torch.protocols import Embedder
from nscma_torch.text.embedder import load_embedder

K = 10
LANES: Mapping[str, Mapping[str, Any]] = {
    "BM25 only": {"lanes": ["lexical"], "strategy": "single-step"},
    "vectors only": {"lanes": ["vector"], "strategy": "single-step"},
    "hybrid": {"lanes": ["lexical", "vector"], "strategy": "single-step"},
    "default": {},
}
HALVES = ("even", "odd", "all")
_CHUNKS = 40  # of one message may come before the next message


@dataclass(frozen=True)
class Found:
    """What became of one pair; None where the pair cannot tell."""

    pair: Pair
    found: bool
    first: bool | None
    newest_first: bool | None
    both: bool | None


def judge(pair: Pair, ranked: Sequence[int]) -> Found:
    """Judge the ranked messages of one question; a higher place in the chat is a later date."""
    top = list(ranked[:K])
    found = not pair.second.isdisjoint(top)
    if pair.together:
        return Found(pair, found, None, None, None)
    by_date = sorted(top, reverse=True)
    return Found(pair, found, _ahead(pair, top), _ahead(pair, by_date), found and not pair.first.isdisjoint(top))


def _ahead(pair: Pair, ranked: Sequence[int]) -> bool:
    sides = [place in pair.second for place in ranked if place in pair.first | pair.second]
    return bool(sides) and sides[0]


def measure(chat: Chat, embedder: Embedder) -> dict[str, list[Found]]:
    """Judge every pair of a chat under each lane setting."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "beam.db"
        proxy = IndifferentProxy()
        everything = {"gate": {"rule": "everything"}}
        with Memory(store, config=load_config(everything), embedder=embedder, proxy=proxy) as memory:
            added = memory.add_many(chat.messages, user_id="reader", now=chat.asked_at)
            place = {item.id: i for i, item in enumerate(added)}
        judged = {}
        for name, retrieval in LANES.items():
            settings = load_config({**everything, "retrieval": retrieval})
            with Memory(store, config=settings, embedder=embedder, proxy=proxy) as memory:
                judged[name] = [judge(pair, _ranked(memory, chat, pair, place)) for pair in chat.pairs]
    return judged


def _ranked(memory: Memory, chat: Chat, pair: Pair, place: Mapping[str, int]) -> list[int]:
    hits = memory.search(pair.question, user_id="reader", top_k=K * _CHUNKS, now=chat.asked_at)
    return list(dict.fromkeys(place[hit.id] for hit in hits))[:K]


def shares(found: Sequence[Found]) -> dict[str, float]:
    """Share of pairs by column, over those that can tell."""
    updates = [f for f in found if f.pair.category == "knowledge_update"]
    contradictions = [f for f in found if f.pair.category == "contradiction_resolution"]
    return {
        "update: found": _share([f.found for f in updates]),
        "first": _share([f.first for f in updates]),
        "newest first": _share([f.newest_first for f in updates]),
        "contradiction: both": _share([f.both for f in contradictions]),
    }


def _share(values: Sequence[bool | None]) -> float:
    return mean([float(value) for value in values if value is not None])


def main() -> None:
    """Print one row for each lane setting and half of the chats."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds beam/")
    parser.add_argument("--cache", type=Path, help="folder where vectors are kept from run to run")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    config = load_config(None)
    plain = load_embedder(config.embedder, torch_device(config.device))
    embedder = CachedEmbedder(plain, arguments.cache)
    chats = load(arguments.data)
    rows: dict[str, dict[str, list[Found]]] = {name: {half: [] for half in HALVES} for name in LANES}
    for index, chat in enumerate(chats):
        for name, judged in measure(chat, embedder).items():
            rows[name]["odd" if index % 2 else "even"] += judged
            rows[name]["all"] += judged
        embedder.save()
    console = Console(width=140)
    console.print(f"left out, a side has no message: {[name for chat in chats for name in chat.malformed]}")
    for category in ("knowledge_update", "contradiction_resolution"):
        pairs = [pair for chat in chats for pair in chat.pairs if pair.category == category]
        console.print(f"{category}: {len(pairs)} pairs, {sum(pair.together for pair in pairs)} of them in one message")
    table = Table("lanes", "chats", *shares([]))
    for name, by_half in rows.items():
        for half, found in by_half.items():
            table.add_row(name, half, *(f"{value:.3f}" for value in shares(found).values()))
    console.print(table)


if __name__ == "__main__":
    main()
