"""The equations of Titans in plain Python, against `NeuralMemory` and the gate under `papers/titans`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from nscma_kernels import MemoryState, memory_scan
from nscma_torch.api.memory import Memory
from nscma_torch.surprise.gate import GateState, MessageGate
from nscma_torch.surprise.gradient_surprise import gradient_surprise
from nscma_torch.surprise.observation import observe
from tests.papers.presets import preset

Matrix = list[list[float]]


def test_surprise_momentum_and_forgetting() -> None:
    """S_t = eta S_(t-1) - theta grad l, M_t = (1 - alpha) M_(t-1) + S_t, l = |M k - v|^2, of a linear memory."""
    generator = torch.Generator().manual_seed(0)
    length, width = 6, 3
    q, k, v = (torch.randn(1, length, width, generator=generator, dtype=torch.float64) for _ in range(3))
    theta, eta, alpha = (torch.rand(1, length, generator=generator, dtype=torch.float64) * 0.3 for _ in range(3))
    logits = [gate.log() - (1 - gate).log() for gate in (eta, alpha)]
    start = torch.randn(1, width, width, generator=generator, dtype=torch.float64)
    out, state, _ = memory_scan(q, k, v, theta, *logits, MemoryState.fresh((start,)), segment=1, chunk=1)
    memory, momentum = start[0].tolist(), [[0.0] * width for _ in range(width)]
    for t in range(length):
        keys, values = k[0, t].tolist(), v[0, t].tolist()
        wrong = [sum(keys[i] * memory[i][j] for i in range(width)) - values[j] for j in range(width)]
        step, keep, forget = float(theta[0, t]), float(eta[0, t]), float(alpha[0, t])
        momentum = [[keep * momentum[i][j] - step * 2 * keys[i] * wrong[j] for j in range(width)] for i in range(width)]
        memory = [[(1 - forget) * memory[i][j] + momentum[i][j] for j in range(width)] for i in range(width)]
        read = [sum(float(q[0, t, i]) * memory[i][j] for i in range(width)) for j in range(width)]
        assert out[0, t].tolist() == pytest.approx(read)
    assert state.weights[0][0].tolist() == [pytest.approx(row) for row in memory]


@pytest.mark.parametrize("lam", [preset("titans").gate.lam, 0.5])
def test_the_gate_weighs_the_gradient(lam: float) -> None:
    """Written where |grad l| > mu + lambda sigma of the last N inputs."""
    settings = preset("titans").gate.model_copy(update={"lam": lam})
    vectors = torch.nn.functional.normalize(torch.randn(40, 16, generator=torch.Generator().manual_seed(1)), dim=1)
    vectors[20:30] = vectors[0]
    norms, _ = gradient_surprise(vectors, None)
    gate, state = MessageGate(settings), GateState()
    for i, norm in enumerate(norms):
        nll = torch.ones(2, dtype=torch.float64)
        decision, state = gate.decide(observe("x", nll, "", 0.5, gradient=norm), state)
        window = norms[:i][-settings.window :]
        if window:
            mu = sum(window) / len(window)
            sigma = math.sqrt(sum((one - mu) ** 2 for one in window) / len(window))
            assert decision.write == (norm > mu + settings.lam * sigma)


def test_a_store_is_gated_by_it(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    section = {"gate": {"rule": preset("titans").gate.rule, "warmup": 1}}
    memory = open_memory("titans.db", section, surprise_model=light_surprise)
    for text in ("The kettle is in the shed.", *["ok"] * 6):
        memory.add(text, user_id="kim")
    written = [decided.decision.write for decided in memory.log(user_id="kim")]
    assert written[0] and not written[-1], "what was said again and again no longer changes the memory"
