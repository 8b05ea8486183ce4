"""NSCMA section 3.4.1, literally: Score(d) = alpha*cos(q, d) + beta*exp(-lambda*(now - t)) + gamma*importance(d)."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message

START = datetime(2024, 3, 1, tzinfo=UTC)
NOW = START + timedelta(days=40)
SAID = (
    ("Ada", "The kettle is in the blue cupboard."),
    ("Ben", "Lanterns hang over the pier in winter."),
    ("Ada", "My bicycle has a broken chain, and the kettle leaks."),
    ("Ben", "蓝色是我最喜欢的颜色。"),
)
ALPHA, BETA, GAMMA, HALF_LIFE = 0.8, 0.6, 0.3, 20.0
QUESTION = "Where does Ada keep the kettle?"


@pytest.fixture
def by_the_paper(open_memory: Callable[..., Memory], light_surprise: Any) -> Memory:
    config = {
        "score": {"similarity": "cosine", "alpha": ALPHA, "beta": BETA, "gamma": GAMMA, "half_life": HALF_LIFE},
        "retrieval": {"lanes": ["vector"], "fusion": "sum", "speaker_boost": 0.0, "strategy": "single-step"},
    }
    memory = open_memory("score.db", config, surprise_model=light_surprise)
    for i, (name, text) in enumerate(SAID):  # of one sitting, so that each has neighbours
        memory.add([Message("user", text, START + timedelta(days=i), name, session="s")], user_id="ada", now=NOW)
    return memory


def test_the_score_of_a_hit_is_the_equation(by_the_paper: Memory) -> None:
    hits = by_the_paper.search(QUESTION, user_id="ada", now=NOW, explain=True)
    embedder = by_the_paper.components.embedder
    asked = embedder.embed_query(QUESTION)
    assert len(hits) == len(SAID), "whatever its score"
    for hit in hits:
        cosine = float(embedder.embed([hit.text])[0] @ asked)
        recency = math.exp(-math.log(2) / HALF_LIFE * ((NOW - hit.occurred_at) / timedelta(days=1)))
        expected = ALPHA * cosine + BETA * recency + GAMMA * hit.parts["importance"]
        assert hit.score == pytest.approx(expected, abs=1e-5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_scores_below_zero_are_scores(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    retrieval = {"lanes": ["vector"], "fusion": "sum", "speaker_boost": 0.0, "strategy": "single-step"}
    memory = open_memory(
        "signed.db", {"score": {"similarity": "cosine"}, "retrieval": retrieval}, surprise_model=light_surprise
    )
    texts = [f"{word} note" for word in ["kettle", "lantern", "pier", "winter", "chain", "cupboard"]]
    for text in texts:
        memory.add(text, user_id="ada", now=NOW)
    embedder = memory.components.embedder
    vectors = embedder.embed(texts)
    opposite = -vectors[0]
    embed_query = embedder.embed_query
    try:
        embedder.embed_query = lambda text: opposite  # type: ignore[method-assign] # noqa: ARG005
        hits = memory.search("kettle", user_id="ada", now=NOW)
    finally:
        embedder.embed_query = embed_query  # type: ignore[method-assign]
    scores = {text: float(vector @ opposite) for text, vector in zip(texts, vectors, strict=True)}
    assert {hit.text: hit.score for hit in hits} == pytest.approx(scores, abs=1e-5)
    assert hits[-1].text == texts[0] and hits[-1].score == pytest.approx(-1.0, abs=1e-5)
