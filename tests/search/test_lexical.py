"""BM25 with neighbours against its formula written out with loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import RetrievalConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.search.lexical import bm25, idf
from nscma_torch.text.terms import terms

Open = Callable[..., Memory]


def by_formula(
    texts: list[str], sessions: list[str], query: list[str], s: RetrievalConfig, kept: list[bool]
) -> list[float]:
    """The docstring of `retrieval.lexical`, one unit and one term at a time."""
    bags = [terms(text) for text in texts]
    n = len(texts)
    share = [min(1.0, s.reach / max(len(bag), 1)) for bag in bags]

    def beside(i: int, step: int) -> int | None:
        others = [j for j in (range(i + 1, n) if step > 0 else range(i - 1, -1, -1)) if sessions[j] == sessions[i]]
        return others[abs(step) - 1] if len(others) >= abs(step) else None

    def spread(values: list[float]) -> list[float]:
        out = []
        for i in range(n):
            total = 0.0
            for h, weight in enumerate(s.hops, start=1):
                for j in (beside(i, -h), beside(i, h)):
                    total += 0.0 if j is None else weight * share[j] * values[j]
            out.append(values[i] + share[i] * total)
        return out

    lengths = spread([float(len(bag)) if keep else 0.0 for bag, keep in zip(bags, kept, strict=True)])
    mean = sum(length for length, keep in zip(lengths, kept, strict=True) if keep) / sum(kept)
    scores = [0.0] * n
    for term in query:
        own = [float(bag.count(term)) if keep else 0.0 for bag, keep in zip(bags, kept, strict=True)]
        holders = sum(value > 0 for value in own)
        if not holders:
            continue
        weight = math.log(1 + (sum(kept) - holders + 0.5) / (holders + 0.5))
        for i, tf in enumerate(spread(own)):
            norm = s.k1 * (1 - s.b + s.b * lengths[i] / mean)
            scores[i] += weight * tf * (s.k1 + 1) / (tf + norm)
    return [score if keep else 0.0 for score, keep in zip(scores, kept, strict=True)]


@pytest.mark.parametrize(
    "settings",
    [
        RetrievalConfig(),
        RetrievalConfig(hops=()),
        RetrievalConfig(k1=1.5, b=0.3, hops=(0.4,), reach=3.0),
        RetrievalConfig(k1=0.9, b=1.0, hops=(0.5, 0.25), reach=5),
    ],
)
def test_it_is_the_formula(settings: RetrievalConfig, memory: Memory, conversation: Any) -> None:
    messages = conversation(30, seed=9, long=False)
    list(memory.add_many(messages, user_id="ada"))
    index = UserIndex("ada", memory.components.embedder.dimension, torch.device("cpu"))
    texts, sessions = [m.content for m in messages], [m.session or "" for m in messages]
    for query in (terms("Kyoto bicycle"), terms("moved to Porto, moved"), terms("蓝色"), ["unheard"]):
        with memory.components.database.read(ALL_USERS) as connection:
            index.catch_up(connection)
            postings = index.postings(connection, query)
        for kept in ([True] * 30, [i % 4 != 1 for i in range(30)]):
            scores = bm25(index, postings, query, settings, torch.tensor(kept))
            assert scores.tolist() == pytest.approx(by_formula(texts, sessions, query, settings, kept), rel=1e-5)


def test_nothing_under_the_mask(memory: Memory) -> None:
    memory.add("Kyoto", user_id="ada")
    index = UserIndex("ada", memory.components.embedder.dimension, torch.device("cpu"))
    with memory.components.database.read(ALL_USERS) as connection:
        index.catch_up(connection)
        postings = index.postings(connection, ["kyoto"])
    assert bm25(index, postings, ["kyoto"], RetrievalConfig(), torch.tensor([False])).tolist() == [0.0]


def test_idf_falls_with_the_holders() -> None:
    values = [idf(100, holders) for holders in range(101)]
    assert values == sorted(values, reverse=True)
    assert values[-1] > 0
