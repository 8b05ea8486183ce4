"""`score.scaling = "min-max"`: over what a question may find, and over nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import ScoreConfig
from nscma_torch.core.errors import ConfigError
from nscma_torch.episodic.index.scaled_search import scaled
from nscma_torch.text.embedders.query_vector import query_vector

NOW = datetime(2024, 3, 1, tzinfo=UTC)
Open = Callable[..., Memory]
VECTORS = {"lanes": ["vector"], "fusion": "sum", "speaker_boost": 0.0, "strategy": "single-step"}


def kettles(open_memory: Open, light_surprise: Any, **score: Any) -> Memory:
    memory = open_memory(
        "scaled.db", {"score": {"scaling": "min-max", **score}, "retrieval": VECTORS}, surprise_model=light_surprise
    )
    for i, text in enumerate(("The kettle leaks.", "Lanterns hang over the pier.", "The kettle is in the shed.")):
        at = NOW - timedelta(days=i)
        memory.add(text, user_id="ada", run_id="abc"[i], timestamp=at, now=NOW)
    return memory


def test_values_between_the_least_and_the_most() -> None:
    assert scaled(torch.tensor([2.0, -1.0, 0.5])).tolist() == [1.0, 0.0, 0.5]
    assert scaled(torch.tensor([3.0, 3.0])).tolist() == [0.5, 0.5]
    assert scaled(torch.empty(0)).tolist() == []


def test_scaled_over_what_may_be_found(open_memory: Open, light_surprise: Any) -> None:
    memory = kettles(open_memory, light_surprise, alpha=0.0, beta=2.0)
    assert [hit.score for hit in memory.search("pier", user_id="ada", now=NOW)][::2] == [2.0, 0.0]
    (only,) = memory.search("pier", user_id="ada", run_id="b", now=NOW)
    assert only.score == pytest.approx(1.0), "alone it is in the middle"
    assert memory.search("pier", user_id="ada", as_of=NOW - timedelta(days=9), now=NOW) == []


def test_parts_without_weight_do_not_count(open_memory: Open, light_surprise: Any) -> None:
    memory = kettles(open_memory, light_surprise)
    hits = memory.search("Where is the kettle?", user_id="ada", now=NOW)
    assert (hits[0].score, hits[-1].score) == (1.0, 0.0) and ScoreConfig().beta == ScoreConfig().gamma == 0.0


def test_a_module_needs_linear_scores(open_memory: Open, light_surprise: Any) -> None:
    with pytest.raises(ConfigError, match="set it to 'none'"):
        kettles(open_memory, light_surprise).as_module(user_id="ada")


def test_a_module_compares_what_a_search_does(open_memory: Open, light_surprise: Any) -> None:
    config = {"score": {"similarity": "cosine"}, "retrieval": VECTORS}
    memory = open_memory("cosine.db", config, surprise_model=light_surprise)
    memory.add(["The kettle leaks.", "Lanterns hang over the pier.", "It is red."], user_id="ada", now=NOW)
    embedder = memory.components.embedder
    query = query_vector(embedder, "Where is the kettle?").requires_grad_()
    memory.as_module(user_id="ada", now=NOW, scale=1.0)(query, k=3).weights[0].backward()
    own = embedder.embed(["The kettle leaks.", "Lanterns hang over the pier.", "It is red."])
    best = own[(own @ query.detach()).argsort(descending=True)]
    shares = torch.softmax(best @ query.detach(), 0)
    expected = shares[0] * (best[0] - (shares[:, None] * best).sum(0))
    torch.testing.assert_close(query.grad, expected, atol=1e-5, rtol=1e-4)
