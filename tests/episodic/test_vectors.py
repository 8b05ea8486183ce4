"""Both backends give the episodic score of NSCMA section 3.4.1; faiss the same hits as tensors, whenever `now` is."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import ScoreConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Message
from nscma_torch.episodic.index.faiss_search import FaissSearch
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import TensorSearch, VectorSearch

Open = Callable[..., Memory]
START = datetime(2023, 1, 1, tzinfo=UTC)
DAY = 86_400_000_000
WEIGHTS = {
    "similarity": ScoreConfig(),
    "recency": ScoreConfig(beta=0.7, half_life=30),
    "importance": ScoreConfig(gamma=0.5, half_life=30),
    "all": ScoreConfig(alpha=0.5, beta=1.5, gamma=0.25, half_life=3),
}


def micros(moment: datetime) -> int:
    return int(moment.timestamp()) * 10**6


def lonely(number: int, first: int = 0) -> list[Message]:
    """Messages a day apart, each in a sitting of its own: contextual vectors are then the plain ones."""
    words = ("kettle", "harbour", "bicycle", "Kyoto", "lantern", "orchard", "voucher")
    return [
        Message("user", f"{words[i % 7]} {words[i // 7 % 7]} note {i}", START + timedelta(days=i), session=f"s{i}")
        for i in range(first, first + number)
    ]


def caught_up(memory: Memory, index: UserIndex | None = None) -> UserIndex:
    if index is None:
        index = UserIndex("ada", memory.components.embedder.dimension, torch.device("cpu"))
    with memory.components.database.read(ALL_USERS) as connection:
        index.catch_up(connection)
    return index


def searching(index: UserIndex, weights: ScoreConfig, backend: str) -> VectorSearch:
    if backend == "torch":
        return TensorSearch(weights)
    return FaissSearch(index.vectors.shape[1], index.device, weights, "Flat")


def by_definition(index: UserIndex, query: torch.Tensor, w: ScoreConfig, now: int, mask: torch.Tensor) -> Any:
    """alpha*sim + beta*exp(-lambda*(now - t)) + gamma*importance, row by row in Python floats."""
    scored = []
    for row in range(len(index)):
        if bool(mask[row]):
            sim = sum(a * b for a, b in zip(query.tolist(), index.contextual[row].tolist(), strict=True))
            age = (now - int(index.occurred_at[row])) / DAY
            recency = math.exp(-w.decay * age)
            scored.append((w.alpha * sim + w.beta * recency + w.gamma * float(index.importance[row]), row))
    return sorted(scored, key=lambda item: (-item[0], item[1]))


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("backend", ["torch", "faiss"])
def test_the_score_is_the_papers(name: str, backend: str, memory: Memory, light_surprise: Any, embedder: Any) -> None:
    weights = WEIGHTS[name]
    memory.components._surprise_model = light_surprise
    list(memory.add_many(lonely(40), user_id="ada", now=START + timedelta(days=400)))
    index = caught_up(memory)
    search = searching(index, weights, backend)
    query = embedder.embed_query("kettle harbour")
    for days in (39, 45, 200, 10):
        now = micros(START + timedelta(days=days))
        mask = index.occurred_at <= now
        scores, rows = search.search(index, query, now=now, mask=mask, k=7)
        expected = by_definition(index, query, weights, now, mask)[:7]
        assert rows.tolist() == [row for _, row in expected], days
        torch.testing.assert_close(scores, torch.tensor([score for score, _ in expected]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("backend", ["torch", "faiss"])
def test_nothing_to_find(backend: str, memory: Memory, embedder: Any) -> None:
    memory.add("The only one.", user_id="ada", timestamp=START)
    index = caught_up(memory)
    weights = WEIGHTS["all"]
    search = searching(index, weights, backend)
    query, at = embedder.embed_query("one"), micros(START)
    scores, rows = search.search(index, query, now=at, mask=torch.zeros(1, dtype=torch.bool), k=5)
    assert (scores.tolist(), rows.tolist()) == ([], [])
    _, rows = search.search(index, query, now=at, mask=torch.ones(1, dtype=torch.bool), k=5)
    assert rows.tolist() == [0]


@pytest.mark.parametrize("factory", ["Flat", "HNSW16", "IVF4,Flat"])
def test_search_is_the_same_through_either_backend(factory: str, open_memory: Open, light_surprise: Any) -> None:
    score = {"beta": 0.5, "gamma": 0.2, "half_life": 10.0}
    plain = open_memory(config={"score": score}, surprise_model=light_surprise)
    list(plain.add_many(lonely(200), user_id="ada", now=START + timedelta(days=400)))
    other = open_memory(
        config={"score": score, "index": {"backend": "faiss", "faiss_factory": factory}}, surprise_model=light_surprise
    )
    for days in (199, 230):
        now = START + timedelta(days=days)
        for query in ("kettle", "Kyoto bicycle", "voucher orchard note 150"):
            one = plain.search(query, user_id="ada", now=now, top_k=5)
            two = other.search(query, user_id="ada", now=now, top_k=5)
            if factory == "Flat":
                assert [hit.id for hit in one] == [hit.id for hit in two]
                assert [hit.score for hit in one] == pytest.approx([hit.score for hit in two], abs=1e-5)
            else:  # an approximate index proposes candidates; what it proposes is scored exactly
                assert len({hit.id for hit in one} & {hit.id for hit in two}) >= 3


def test_the_score_does_not_overflow(memory: Memory) -> None:
    memory.add("An old one.", user_id="ada", timestamp=datetime(1000, 1, 1, tzinfo=UTC))
    index, far = caught_up(memory), micros(datetime(2100, 1, 1, tzinfo=UTC))
    found = TensorSearch(WEIGHTS["all"]).search(index, index.vectors[0], now=far, mask=index.embedded, k=1)
    assert bool(torch.isfinite(found[0]).all()) and found[1].tolist() == [0]
