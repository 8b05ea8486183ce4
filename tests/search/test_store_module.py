"""`Memory.as_module`: what a search of the vector lane finds, live, within its bounds, with gradients to queries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError, ScopeError, StoreClosedError
from nscma_torch.search.store_module import StoreModule
from nscma_torch.text.embedders.query_vector import query_vector

Open = Callable[..., Memory]
NOW = datetime(2024, 6, 1, tzinfo=UTC)
VECTORS = {"retrieval": {"lanes": ["vector"], "speaker_boost": 0.0, "strategy": "single-step"}}
TEXTS = ["The boat is moored in Porto.", "Ana sold the boat.", "The tea is in the tin.", "Tides are high in spring."]


@pytest.fixture
def filled(open_memory: Open, light_surprise: Any) -> Memory:
    memory = open_memory(surprise_model=light_surprise, config=VECTORS)
    memory.add(TEXTS[:3], user_id="ada", run_id="r", timestamp=NOW - timedelta(days=9), now=NOW)
    memory.add(TEXTS[3], user_id="ada", metadata={"sort": "sea"}, timestamp=NOW - timedelta(days=2), now=NOW)
    memory.add("The boat is in Oslo.", user_id="bob", timestamp=NOW - timedelta(days=2), now=NOW)
    return memory


def asked(embedder: Any, *texts: str) -> Tensor:
    return torch.stack([query_vector(embedder, text) for text in texts])


def texts_of(module: StoreModule, ids: Tensor) -> list[str]:
    return [unit.text for unit in module.units(ids[ids >= 0]) if unit is not None]


def test_it_finds_what_a_search_of_the_vector_lane_finds(filled: Memory, embedder: Any) -> None:
    question = "where is the boat moored"
    for bounds in (
        {},
        {"run_id": "r"},
        {"filters": {"sort": "sea"}},
        {"as_of": NOW - timedelta(days=5)},
        {"run_id": "other"},
    ):
        module = filled.as_module(user_id="ada", now=NOW, **bounds)
        found = module(asked(embedder, question)[0], k=10)
        hits = filled.search(question, user_id="ada", now=NOW, explain=True, **bounds)
        near = [hit.text for hit in hits if hit.parts["vector_score"] > 0]
        assert texts_of(module, found.ids)[: len(near)] == near
        assert "The boat is in Oslo." not in texts_of(module, found.ids)
        assert float(found.weights.sum()) == pytest.approx(1.0 if (found.ids >= 0).any() else 0.0)
    module = filled.as_module(user_id="ada", now=NOW, scale=3.0)
    found = module(asked(embedder, question), k=3)
    keys = filled.components.searcher.recall(asked(embedder, question), module._bounds(), 3).keys
    torch.testing.assert_close(found.weights[0], (3.0 * keys[0] @ asked(embedder, question)[0]).softmax(0))
    assert found.values.shape == (1, 3, embedder.dimension) and found.mixed.shape == (1, embedder.dimension)
    own = embedder.embed([unit.text for unit in module.units(found.ids) if unit is not None])
    torch.testing.assert_close(found.values[0], own)


def test_it_is_live(filled: Memory, embedder: Any) -> None:
    module, query = filled.as_module(user_id="ada", now=NOW), asked(embedder, "the tide today")
    assert isinstance(module, nn.Module) and not module.state_dict()
    count = int((module(query, 20).ids >= 0).sum())
    early = datetime(2024, 5, 30, tzinfo=UTC)
    (tide,) = filled.add("The tide is low today.", user_id="ada", timestamp=early, expiration_date=NOW, now=early)
    module = filled.as_module(user_id="ada", now=early + timedelta(hours=1))
    later = filled.as_module(user_id="ada", now=NOW)
    ids = module(query, 20).ids
    assert texts_of(module, ids)[0] == "The tide is low today." and int((ids >= 0).sum()) == count + 1
    assert int((later(query, 20).ids >= 0).sum()) == count, "it has expired"
    filled.delete(tide.id, user_id="ada", now=early)
    assert "The tide is low today." not in texts_of(module, module(query, 20).ids)
    assert module.units(ids[0, :1]) == [None], "what is hidden is not read by its number either"
    filled.restore(tide.id, user_id="ada", now=early)
    assert texts_of(module, module(query, 20).ids)[0] == "The tide is low today."
    filled.erase(user_id="ada", memory_id=tide.id)
    assert "The tide is low today." not in texts_of(module, module(query, 20).ids)
    assert module.units(ids)[0] is None
    filled.erase(user_id="ada")
    assert (module(query, 20).ids == -1).all() and not module(query, 20).mixed.any()
    filled.close()
    with pytest.raises(StoreClosedError):
        module(query)


def test_gradients_reach_the_queries(filled: Memory, embedder: Any) -> None:
    module = filled.as_module(user_id="ada", now=NOW, scale=2.0)
    query = asked(embedder, "boat in Porto").clone().requires_grad_()
    module(query, 3).weights[0, 0].backward()
    step = torch.zeros_like(query)
    step[0, int(query.grad.abs().argmax())] = 1e-2  # type: ignore[union-attr]
    with torch.no_grad():
        higher, lower = module(query + step, 3), module(query - step, 3)
    assert torch.equal(higher.ids, lower.ids)
    slope = float(higher.weights[0, 0] - lower.weights[0, 0]) / 2e-2
    assert slope == pytest.approx(float(query.grad.flatten()[int(step.argmax())]), rel=1e-2)  # type: ignore[union-attr]


def test_errors(filled: Memory) -> None:
    module = filled.as_module(user_id="ada", now=NOW)
    for call in (lambda: module(torch.ones(3)), lambda: module(torch.ones(module._searcher().dimension), 0)):
        with pytest.raises(InvalidInputError, match="must be"):
            call()
    with pytest.raises(InvalidInputError, match="scale"):
        filled.as_module(user_id="ada", scale=0.0)
    with pytest.raises(ScopeError):
        filled.as_module()
