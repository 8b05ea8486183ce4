"""Clustering the hierarchies of many users in one call, as the worker does, against one call each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from eval.experiments.gpu.clock import milliseconds
from eval.experiments.gpu.part import Row, WrongResultError
from nscma_torch.core.config import HierarchyConfig
from nscma_torch.hierarchy.cam import Cam, Change, assimilate
from nscma_torch.hierarchy.level_rows import to_rows

_CHUNKS = 20  # per hierarchy
_DIMENSION = 64
_TOPICS = 3
_REPEATS = 3


def first_changes(count: int, device: torch.device) -> list[Change]:
    """`_CHUNKS` random chunks about three topics for each of `count` empty hierarchies."""
    changes = []
    for number in range(count):
        generator = torch.Generator().manual_seed(number)
        topics = torch.randn(_TOPICS, _DIMENSION, generator=generator)
        vectors = topics[torch.randint(0, _TOPICS, (_CHUNKS,), generator=generator)]
        vectors = (vectors + 0.7 * torch.randn(_CHUNKS, _DIMENSION, generator=generator)).to(device)
        places = torch.arange(_CHUNKS, device=device)
        changes.append(Change(Cam(), places[:0], vectors, places, torch.zeros_like(places)))
    return changes


def one_by_one(changes: Sequence[Change], settings: HierarchyConfig) -> list[Cam]:
    """Cluster each hierarchy in a call of its own."""
    return [assimilate([change], settings)[0] for change in changes]


def hierarchies(device: torch.device, quick: bool) -> Iterator[Row]:
    """All levels of the default hierarchy, without summaries; each must come out as it does alone."""
    settings = HierarchyConfig()
    for count in (1, 3) if quick else (1, 50):
        changes = first_changes(count, device)
        pairs = zip(one_by_one(changes, settings), assimilate(changes, settings), strict=True)
        for alone, together in pairs:
            if [to_rows(level) for level in alone.levels] != [to_rows(level) for level in together.levels]:
                raise WrongResultError("a hierarchy clustered with others differs from the same one alone")
        runs = {
            "one call, ms": lambda changes=changes: assimilate(changes, settings),
            "one by one, ms": lambda changes=changes: one_by_one(changes, settings),
        }
        values = milliseconds(runs, device, _REPEATS)
        values["one by one / one call"] = values["one by one, ms"] / values["one call, ms"]
        yield Row("assimilate", f"{count} hierarchies of {_CHUNKS} chunks", "float32", values)
