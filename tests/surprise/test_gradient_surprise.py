"""The gate's rule `gradient`: the recurrence of Titans, the same however messages are cut, kept, erased, made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import ConfigError, InvalidInputError
from nscma_torch.episodic.log import streams
from nscma_torch.surprise.gate import GateState
from nscma_torch.surprise.gradient_surprise import WIDTH, _memory, _projection, gradient_surprise
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

Open = Callable[..., Memory]
RULE = {"gate": {"rule": "gradient", "warmup": 2}}
TEXTS = [f"My {thing} is kept in {place}." for thing in ("bike", "key", "map") for place in ("Oslo", "Rome", "Lima")]
TEXTS[5] = TEXTS[6] = TEXTS[0]


class Other(HashEmbedder):
    """An embedder with another name."""

    @property
    def fingerprint(self) -> str:
        return "other"


def state_of(memory: Memory) -> GateState:
    with memory.components.database.read(ALL_USERS) as connection:
        (stream,) = streams.of_user(connection, "ada")
    assert stream.gate_state is not None
    return GateState.from_bytes(stream.gate_state.encode())


def gradients_of(memory: Memory) -> list[float]:
    return [episode.decision.score for episode in memory.log(user_id="ada") if episode.decision is not None]


def test_it_is_the_recurrence_of_titans_written_out() -> None:
    """For M(k) = k M the gradient of ||k M - v||^2 is 2 k^T (k M - v). S and M as in equations 9 to 15 of Titans."""
    vectors = torch.nn.functional.normalize(torch.randn(6, 100, generator=torch.Generator().manual_seed(0)), dim=1)
    vectors[4] = vectors[1]
    norms, _ = gradient_surprise(vectors, None)
    own, projection = _memory(), _projection(100)
    torch.testing.assert_close(projection.T @ projection, torch.eye(WIDTH), atol=1e-5, rtol=0)
    memory, momentum = torch.zeros(2, WIDTH, WIDTH)
    theta, eta, alpha = (layer.bias.sigmoid() for layer in (own.to_step, own.to_momentum, own.to_decay))
    for vector, norm in zip(vectors, norms, strict=True):
        x = vector @ projection
        x = x / x.square().mean().sqrt()
        k, v = x @ own.to_keys.weight.T, x @ own.to_values.weight.T
        slope = 2 * torch.outer(k, k @ memory - v)
        assert norm == pytest.approx(float(slope.norm()), rel=1e-3)
        momentum = eta * momentum - theta / WIDTH * slope
        memory = (1 - alpha) * memory + momentum
    assert norms[4] < 0.7 * norms[1], "what was read before surprises less"


def test_it_goes_on_from_what_was_stored_bit_for_bit() -> None:
    vectors = torch.randn(7, 20, generator=torch.Generator().manual_seed(1))
    norms, after = gradient_surprise(vectors, None)
    first, stored = gradient_surprise(vectors[:3], None)
    second, stored = gradient_surprise(vectors[3:], stored)
    assert first + second == norms and stored == after
    with pytest.raises(InvalidInputError, match="replay"):
        gradient_surprise(vectors, stored[:-4])


def test_a_store_decides_by_it_however_messages_are_cut(open_memory: Open, light_surprise: Any) -> None:
    alone, together = (open_memory(name, RULE, surprise_model=light_surprise) for name in ("one.db", "all.db"))
    for text in TEXTS:
        alone.add(text, user_id="ada")
    together.add(TEXTS, user_id="ada")
    assert state_of(alone) == state_of(together) and state_of(alone).memory is not None
    for memory in (alone, together):
        decisions = [episode.decision for episode in memory.log(user_id="ada") if episode.decision is not None]
        assert {made.rule for made in decisions} == {"gradient"}
        assert not decisions[5].write and not decisions[6].write, "said before"
        assert decisions[6].score < decisions[0].score
    assert gradients_of(alone) == gradients_of(together)
    assert alone.replay(user_id="ada", dry_run=False) == (len(TEXTS), [])
    assert state_of(alone).memory == state_of(together).memory


def test_what_is_erased_was_never_read(open_memory: Open, light_surprise: Any) -> None:
    erased, never = (open_memory(name, RULE, surprise_model=light_surprise) for name in ("one.db", "all.db"))
    gone, *_ = erased.add(["The locker code is zebra 4711.", *TEXTS], user_id="ada")
    never.add(TEXTS, user_id="ada")
    assert state_of(erased).memory != state_of(never).memory
    erased.erase(user_id="ada", memory_id=gone.id)
    assert state_of(erased).memory == state_of(never).memory
    erased.replay(user_id="ada", dry_run=False)
    assert gradients_of(erased) == gradients_of(never)


def test_another_embedder_begins_anew(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory("own.db", RULE, surprise_model=light_surprise)
    memory.add(TEXTS, user_id="ada")
    memory.close()
    other = open_memory("own.db", RULE, surprise_model=light_surprise, embedder=Other())
    other.reembed()
    state = state_of(other)
    assert state.memory is None and not any(series["gradient"] for series in state.series.values())
    other.add("A new one.", user_id="ada")
    assert state_of(other).memory is not None


def test_what_was_stored_under_another_rule_is_written_and_says_so(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory(surprise_model=light_surprise)
    memory.add(["ok", "ok"], user_id="ada")
    assert state_of(memory).memory is None
    _, changed = memory.replay(user_id="ada", gate=RULE["gate"])
    assert changed and all("was not measured" in own.decision.reason for own in changed)
    with pytest.raises(ConfigError, match=r"embedder\.deferred"):
        open_memory("other.db", {**RULE, "embedder": {"deferred": False}})
