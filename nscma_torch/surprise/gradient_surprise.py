"""Gradient surprise: how much a memory of a stream's vectors would have to change to store the next vector.

Titans (Behrouz et al. 2025, section 3.1) measures surprise by the gradient of the associative loss of a memory that is
written at test time. Here, the memory is a `NeuralMemory` with fixed, untrained projections, the same on every machine.
Each message is measured and then written individually, so results don't depend on how messages are grouped into calls.

Shape legend: n messages, d dimension of the embedder, W = `WIDTH`.
"""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.neural.neural_memory import NeuralMemory
from nscma_torch.neural.state import NeuralMemoryState

WIDTH = 64  # numbers of a vector that the memory reads; the state of a stream is 2 W^2 of float32
SEED = 2501  # of the fixed projections
STEP, DECAY = -math.log(3), -6.0  # logits of theta W, 1/4: with eta one half a lone vector ends up learnt; and of alpha
DECIMALS = 3  # of the norm; those beyond depend on which texts were embedded side by side


@torch.no_grad()
def gradient_surprise(vectors: Tensor, stored: bytes | None) -> tuple[list[float], bytes]:
    """Return the gradient norm for each message vector [n, d], and the final memory, starting from the memory in
    `stored`.

    Raises `InvalidInputError` if `stored` is neither a memory returned by a call nor None (a new stream).
    """
    memory, projection = _memory(), _projection(vectors.shape[1])
    state, norms = _restored(memory, stored), []
    for vector in vectors.cpu().float():
        x = functional.normalize(vector @ projection, dim=0)[None, None]
        norms.append(round(float(memory.gradient_norm(x, state)), DECIMALS))
        _, state, *_ = memory(x, state)
    return norms, torch.cat([state.weights[0], state.momentum[0]]).numpy().tobytes()


def _restored(memory: NeuralMemory, stored: bytes | None) -> NeuralMemoryState:
    fresh = memory.init_state(1)
    if stored is None:
        return fresh
    if len(stored) != 2 * WIDTH * WIDTH * 4:
        raise InvalidInputError(
            f"the stored surprise memory of a stream is invalid ({len(stored)} bytes): replay the stream's log"
        )
    weights, momentum = torch.frombuffer(bytearray(stored), dtype=torch.float32).view(2, 1, WIDTH, WIDTH)
    return fresh.restored((weights,), (momentum,))


@cache
def _memory() -> NeuralMemory:
    """Return a linear memory with orthogonal projections and constant rates."""
    memory = NeuralMemory(WIDTH, depth=1, segment=1, norm=False)
    generator = torch.Generator().manual_seed(SEED)
    for layer in (memory.to_queries, memory.to_keys, memory.to_values, memory.combine):
        layer.weight.data = _orthonormal(WIDTH, WIDTH, generator)
    for layer, bias in ((memory.to_step, STEP), (memory.to_momentum, 0.0), (memory.to_decay, DECAY)):
        nn.init.zeros_(layer.weight)
        nn.init.constant_(layer.bias, bias)
    nn.init.zeros_(memory.to_gate.weight)
    nn.init.zeros_(memory.to_gate.bias)
    nn.init.zeros_(memory.memory[0])  # it has read nothing
    return memory.requires_grad_(False)


@cache
def _projection(dimension: int) -> Tensor:
    """Return a matrix [d, W] with orthonormal columns, or with orthonormal rows if d < W."""
    return _orthonormal(dimension, WIDTH, torch.Generator().manual_seed(SEED + 1))


def _orthonormal(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    drawn = torch.randn(max(rows, columns), min(rows, columns), dtype=torch.float64, generator=generator)
    found: Tensor = torch.linalg.qr(drawn).Q.float()
    return found if rows >= columns else found.T.contiguous()
