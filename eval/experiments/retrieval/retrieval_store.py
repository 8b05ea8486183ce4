"""A data set as it is stored once, and asked in every way of the retrieval table."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from eval.caches.embedding_cache import CachedEmbedder
from eval.harness.fakes import IndifferentSurpriseModel
from eval.metrics import evidence_places
from eval.metrics.evidence_places import Places
from eval.metrics.retrieval_metrics import recall_at
from eval.systems.plain_retrieval import PLAIN, PlainSearch
from eval.tasks.retrieval_sets import Asked, DataSet, World
from nscma_torch import Memory, load_config
from nscma_torch.core.records import UnitKind
from nscma_torch.search.strategies import STRATEGIES

KS = (5, 10)
KINDS: Mapping[str, tuple[UnitKind, ...]] = MappingProxyType(
    {
        "chunk": ("chunk",),
        "triple": ("triple",),
        "atomic_fact": ("atomic_fact",),
        "summary": ("summary",),
        "mixed": ("chunk", "triple", "atomic_fact", "summary"),
    }
)
CHROMA = "ChromaDB"
CHROMA_PROGRAM = Path(__file__).parents[2] / "systems" / "chroma.py"
LANES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "lexical lane": {"lanes": ["lexical"]},
        "vector lane": {"lanes": ["vector"]},
        "RRF of lanes": {"lanes": ["lexical", "vector"], "fusion": "rrf"},
    }
)
SEARCHES = (*STRATEGIES, "auto")
_SUMMARIES = 50  # asked for, of which ten open more than ten places
_OVER_UNITS = (*PLAIN, CHROMA, *LANES, "single-step", "links", "auto", "rerank", "iterative")  # need no more than these
_WITH_SUMMARIES = ("traversal", "global", "prune-and-grow")


@dataclass(frozen=True)
class Asking:
    """One row's way of asking: `strategy` is that of a search, one of `LANES`, or a baseline."""

    structure: str
    strategy: str

    @property
    def needs_summaries(self) -> bool:
        """Whether the store must have the hierarchy."""
        return self.structure in ("summary", "mixed") or self.strategy in _WITH_SUMMARIES

    @property
    def needs_extraction(self) -> bool:
        """Whether the store's background work must have been done."""
        return self.structure != "chunk" or self.strategy not in _OVER_UNITS


@dataclass(frozen=True)
class Ranked:
    """The ranking of one question, as recall at each of `KS`, and the milliseconds of its search."""

    asked: Asked
    recalls: list[float]
    ms: float


class Store:
    """A data set as it is stored, in a folder.

    Args:
        extraction, summaries: what is made of the messages beyond chunks.

    Raises `RuntimeError` where background work failed.
    """

    def __init__(
        self, data_set: DataSet, folder: Path, embedder: CachedEmbedder, *, extraction: bool, summaries: bool
    ) -> None:
        self.data_set = data_set
        self._file = folder / "store.db"
        self._embedder = embedder
        self._summaries = summaries
        with self._open({}) as memory:
            numbered = [self._add(memory, world) for world in data_set.worlds]
            if extraction:
                memory.flush()
                if failures := memory.stats().failures:
                    raise RuntimeError(f"background work failed: {failures[0]}")
            self._worlds = [
                (world, evidence_places.read(memory, world.user, place, whole=data_set.whole))
                for world, place in zip(data_set.worlds, numbered, strict=True)
            ]

    def _open(self, retrieval: Mapping[str, Any]) -> Memory:
        sections = {
            "gate": {"rule": "everything"},
            "hierarchy": {"enabled": self._summaries},
            "facts": {"units": ["triple", "atomic_fact"]},
            "retrieval": retrieval,
        }
        return Memory(
            self._file, config=load_config(sections), embedder=self._embedder, surprise_model=IndifferentSurpriseModel()
        )

    def _add(self, memory: Memory, world: World) -> dict[str, int]:
        added = memory.add_many(world.messages, user_id=world.user, now=world.asked_at)
        return {item.id: i for i, item in enumerate(added)}

    def ask(self, asking: Asking) -> list[Ranked]:
        """Every question in one way, ChromaDB's excepted."""
        if asking.strategy in PLAIN:
            return self._ask_plain(asking.strategy)
        with self._open(LANES.get(asking.strategy, {})) as memory:
            return [
                self._search(memory, asking, world, own, asked)
                for world, own in self._worlds
                for asked in world.questions
            ]

    def _search(self, memory: Memory, asking: Asking, world: World, own: Places, asked: Asked) -> Ranked:
        embedding, began = self._embedder.seconds, time.perf_counter()
        hits = memory.search(
            asked.text,
            user_id=world.user,
            strategy="single-step" if asking.strategy in LANES else asking.strategy,
            kinds=KINDS[asking.structure],
            top_k=min(self.data_set.depth, _SUMMARIES) if asking.structure == "summary" else self.data_set.depth,
            now=world.asked_at,
        )
        took = time.perf_counter() - began - (self._embedder.seconds - embedding)
        order = own.ranked(hits, self._embedder.embed_query(asked.text), lambda text: self._embedder.embed([text])[0])
        return _judged(own, asked, order, 1000 * took)

    def _ask_plain(self, name: str) -> list[Ranked]:
        found = []
        for world, own in self._worlds:
            plain = PlainSearch(own.texts, self._embedder.embed(own.texts))
            for asked in world.questions:
                vector = self._embedder.embed_query(asked.text)
                began = time.perf_counter()
                rows = plain.search(name, asked.text, vector)
                took = time.perf_counter() - began
                found.append(_judged(own, asked, own.of_chunks(rows), 1000 * took))
        return found

    def ask_chroma(self, python: Path) -> list[Ranked]:
        """Every question, with the vectors that dense retrieval ranks, of ChromaDB under its own interpreter."""
        with tempfile.TemporaryDirectory() as name:
            source, target = Path(name) / "vectors.npz", Path(name) / "ranked.json"
            np.savez(source, **dict(self._vectors()))
            arguments = ["--input", str(source), "--output", str(target), "--top-k", str(self.data_set.depth)]
            subprocess.run([str(python), str(CHROMA_PROGRAM), *arguments], check=True)
            result = json.loads(target.read_text(encoding="utf-8"))
        asked = [(own, asked) for world, own in self._worlds for asked in world.questions]
        ranked = chain.from_iterable(result["ranked"])
        return [
            _judged(own, question, own.of_chunks(rows), ms)
            for (own, question), rows, ms in zip(asked, ranked, result["search_ms"], strict=True)
        ]

    def _vectors(self) -> Iterator[tuple[str, Any]]:
        for i, (world, own) in enumerate(self._worlds):
            yield f"units_{i}", self._embedder.embed(own.texts).numpy()
            yield f"queries_{i}", torch.stack([self._embedder.embed_query(q.text) for q in world.questions]).numpy()


def _judged(own: Places, asked: Asked, order: Sequence[int], ms: float) -> Ranked:
    relevant = own.relevant(asked.evidence)
    return Ranked(asked, [recall_at(order, relevant, k) for k in KS], ms)
