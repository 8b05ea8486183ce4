"""The columns of `TensorSearch` give the literal episodic score to float32's precision, whenever and however often."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import ScoreConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Message
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import TensorSearch

START = datetime(2023, 1, 1, tzinfo=UTC)
DAY = 86_400_000_000
WEIGHTS = [
    ScoreConfig(),
    ScoreConfig(gamma=0.5),
    ScoreConfig(alpha=0.8, beta=0.7, half_life=30),
    ScoreConfig(alpha=0.5, beta=1.5, gamma=0.25, half_life=2),
    ScoreConfig(beta=1.0, gamma=1.0, half_life=math.log(2) / 3.0),
    ScoreConfig(similarity="cosine", alpha=0.8, beta=0.7, gamma=0.25, half_life=30),
]


def micros(days: float) -> int:
    return int((START + timedelta(days=days)).timestamp() * 10**6)


def add(memory: Memory, number: int, first: int) -> None:
    messages = [
        Message("user", f"kettle note {i} of {i % 5} lanterns", START + timedelta(days=i), session=f"s{i}")
        for i in range(first, first + number)
    ]
    list(memory.add_many(messages, user_id="ada", now=START + timedelta(days=9000)))


def caught_up(memory: Memory, index: UserIndex) -> UserIndex:
    with memory.components.database.read(ALL_USERS) as connection:
        index.catch_up(connection)
    return index


def literal(index: UserIndex, query: torch.Tensor, w: ScoreConfig, now: int, mask: torch.Tensor) -> torch.Tensor:
    """The formula in float64, -inf where the mask leaves a unit out. [n]"""
    age = (now - index.occurred_at).double() / DAY
    vectors = index.vectors if w.similarity == "cosine" else index.contextual
    scores = w.alpha * (vectors.double() @ query.double()) + w.gamma * index.importance.double()
    scores += w.beta * torch.exp(-w.decay * age.clamp(min=0)) if w.beta else 0.0
    return scores.masked_fill(~mask, -torch.inf)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_score_is_literal_at_any_time(weights: ScoreConfig, memory: Memory, embedder: Any) -> None:
    """Asked long before the newest unit, long after, back and forth, and between writes, over many half-lives."""
    index = UserIndex("ada", memory.components.embedder.dimension, torch.device("cpu"))
    search = TensorSearch(weights)
    query = embedder.embed_query("kettle lanterns")
    for first in (0, 20, 1500):
        add(memory, 20, first)
        caught_up(memory, index)
        for days in (first + 19, first + 19.3, 5, 5.5, 4000, first + 19, 12):
            now = micros(days)
            mask = index.occurred_at <= now
            scores, rows = search.search(index, query, now=now, mask=mask, k=8)
            expected = literal(index, query, weights, now, mask)
            best = expected.topk(8).values
            assert len(rows) == min(8, int(mask.sum()))
            torch.testing.assert_close(scores.double(), expected[rows], atol=4e-7, rtol=4e-7)
            torch.testing.assert_close(scores.double(), best[: len(rows)], atol=4e-7, rtol=4e-7)


def test_the_same_question_has_the_same_answer_whatever_was_asked_before(memory: Memory, embedder: Any) -> None:
    add(memory, 30, 0)
    index = caught_up(memory, UserIndex("ada", memory.components.embedder.dimension, torch.device("cpu")))
    weights, query = ScoreConfig(beta=0.3, gamma=0.1, half_life=10), embedder.embed_query("note")
    fresh, used = TensorSearch(weights), TensorSearch(weights)
    for days in (29, 100, 41):
        used.search(index, query, now=micros(days), mask=torch.ones(30, dtype=torch.bool), k=3)
    asked: dict[str, Any] = {"now": micros(30), "mask": torch.ones(30, dtype=torch.bool), "k": 9}
    one, other = fresh.search(index, query, **asked), used.search(index, query, **asked)
    assert one[1].tolist() == other[1].tolist()
    assert torch.equal(one[0], other[0])
