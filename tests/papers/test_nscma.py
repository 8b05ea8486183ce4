"""The equations of the NSCMA draft in plain Python, against the library under `papers/nscma`."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.controller.controller import Controller
from nscma_torch.core.config import read_toml
from nscma_torch.semantic.timeline.claims import Claim, Rules
from nscma_torch.semantic.timeline.resolve_claims import resolve
from nscma_torch.surprise.gate import GateState, MessageGate
from nscma_torch.surprise.observation import observe
from tests.papers.presets import FOLDER, preset
from tests.papers.scores import hits_by_equation

DAY = 86_400_000_000  # microseconds


@pytest.mark.parametrize("lam", [preset("nscma").gate.lam, 0.7])
def test_surprise_and_the_gate(lam: float) -> None:
    """Section 3.2: S = -1/L sum log P; write where S > mu + lambda sigma of the last N inputs before."""
    settings = preset("nscma").gate.model_copy(update={"lam": lam})
    chance = random.Random(0)
    gate, state, before = MessageGate(settings), GateState(), []
    for _ in range(150):
        text = "x" * chance.randint(1, 30)
        probabilities = [chance.uniform(0.01, 0.9) for _ in range(len(text) + 1)]  # of the bytes and the end
        nll = torch.tensor([-math.log(p) for p in probabilities], dtype=torch.float64)
        decision, state = gate.decide(observe(text, nll, "", 0.5), state)
        surprise = -sum(math.log(p) for p in probabilities) / len(probabilities)
        assert decision.surprise == pytest.approx(surprise)
        window = before[-settings.window :]
        if window:
            mu = sum(window) / len(window)
            sigma = math.sqrt(sum((s - mu) ** 2 for s in window) / len(window))
            assert decision.threshold == pytest.approx(mu + settings.lam * sigma)
            assert decision.write == (surprise > mu + settings.lam * sigma)
        else:
            assert decision.write, "the first input has no mu"
        before.append(surprise)


def test_the_episodic_score(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    """Section 3.4.1: Score(d) = alpha sim(q, d) + beta e^(-lambda (t_now - t_d)) + gamma importance(d)."""
    score = preset("nscma").score
    for hit, cosine, days in hits_by_equation("nscma", open_memory, light_surprise):
        recency = math.exp(-math.log(2) / score.half_life * days)
        expected = score.alpha * cosine + score.beta * recency + score.gamma * hit.parts["importance"]
        assert hit.score == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_conflicts(seed: int) -> None:
    """Section 3.5: the new fact is active, and the old one archived, if Score(new) > Score(old); else it is not."""
    section = preset("nscma").curator
    chance = random.Random(seed)
    old_age, speaker = chance.uniform(1, 200), chance.choice(["ben", "ana"])
    old = claim("red", -old_age, "ben", chance)
    new = claim("blue", 0.0, speaker, chance)
    score_old = old.confidence * old.trust * 2.0 ** (-old_age / section.half_life)
    score_new = new.confidence * new.trust
    spans = {span.value: span.status for span in resolve([old, new], Rules.of(section)).spans if span.confidence}
    if score_new > score_old:
        assert spans["blue"] == "active" and spans.get("red", "archived") == "archived"
    else:
        assert spans["red"] == "active" and spans.get("blue", "archived") == "archived"


NUMBER = itertools.count(1)


def claim(value: str, day: float, speaker: str, chance: random.Random) -> Claim:
    number = next(NUMBER)
    weights = {"confidence": chance.uniform(0.2, 1.0), "trust": chance.choice([1.0, 0.6])}
    return Claim(number, value, int((1000 + day) * DAY), number, speaker, **weights)


def test_the_conflict_set_is_of_every_relation(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    """Section 3.5: E_conflict = {(s, r, o_old) : o_old != o_new}, so that who likes coffee likes tea no more."""
    config = read_toml(FOLDER / "nscma.toml")
    begin = datetime(2024, 3, 1, tzinfo=UTC)
    found = {}
    for name, curator in (("default", {}), ("paper", config["curator"])):
        memory = open_memory(
            f"{name}.db", {"gate": {"rule": "everything"}, "curator": curator}, surprise_model=light_surprise
        )
        for i, text in enumerate(("I like tea.", "I like coffee.")):
            memory.add(text, user_id="kim", timestamp=begin + timedelta(days=i), now=begin + timedelta(days=i))
        memory.flush()
        found[name] = {(fact.object, fact.status) for fact in memory.facts(user_id="kim", archived=True)}
    assert found["default"] == {("tea", "active"), ("coffee", "active")}
    assert found["paper"] == {("tea", "archived"), ("coffee", "active")}


@pytest.mark.parametrize("k", [1, 4])
def test_the_active_context(k: int, open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    """Section 3.3: the last K turns of high surprise, S > mu + lambda sigma of the last N inputs."""
    config = read_toml(FOLDER / "nscma.toml")
    config["controller"]["active_turns"] = k
    settings = preset("nscma").gate
    controller = Controller(
        open_memory("nscma.db", config, surprise_model=light_surprise), None, user_id="kim", flush=False
    )
    begin, chance = datetime(2024, 3, 1, tzinfo=UTC), random.Random(3)
    for i in range(24):
        words = chance.choice(["zzz vvv yyy", "a b c d", "I put it in A1", "mmm"])
        controller.turn(f"{words} {i}", now=begin + timedelta(hours=i))
        surprises: list[float] = []
        high = []
        for episode in controller.memory.log(user_id="kim"):  # replies count in mu and sigma, too
            nats = [byte / 64 for byte in f"{episode.text}\n".encode()]
            own, window = sum(nats) / len(nats), surprises[-settings.window :]
            surprises.append(own)
            mu = sum(window) / len(window) if window else -math.inf
            sigma = math.sqrt(sum((s - mu) ** 2 for s in window) / len(window)) if window else 0.0
            if episode.role == "user" and own > mu + settings.lam * sigma:
                high.append(episode.text)
        memory = controller.working_memory(now=begin + timedelta(hours=i))
        assert [exchange.turn.text for exchange in memory.context] == high[-k:]
    assert k < len(high) < 24, "some leave it, some never were in it"
