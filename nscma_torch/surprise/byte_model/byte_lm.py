"""The network in the bundled surprise model: a byte-level language model with a linear recurrence as its only memory.

The inputs are the bytes and their contexts (`byte_context`). Each layer is a gated linear recurrence `h_t = a_t *
h_{t-1} + (1 - a_t) * v_t` (minGRU, Feng et al. 2024, "Were RNNs All We Needed?"), followed by a two-layer perceptron.
Gate and value see only the input, so the whole text is one parallel scan. Matches with earlier text also vote directly
for the byte that they expect (as in pointer networks, Vinyals et al. 2015), so the network can copy unseen scripts and
codes. `byte_scorer` computes the same function faster, for inference only.

Shape legend: B streams, T positions, D width, L layers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from nscma_torch.surprise.byte_model.byte_context import HASHED_CONTEXTS, MATCH_LEVELS, MATCH_ORDERS, ByteContext

VOCABULARY = 256


@dataclass(frozen=True)
class ByteLMConfig:
    """Sizes in the network."""

    layers: int = 1
    width: int = 192  # D
    expansion: int = 2  # perceptron width / D
    table_bits: int = 13  # log2 of the rows of one hashed-context table
    table_width: int = 24  # columns of one hashed-context table
    match_width: int = 32  # columns of a match's embedding
    reach: int = 8192  # bytes of history that matches look at; kept in the state


def _scan(decay: Tensor, value: Tensor, start: Tensor, reverse: bool = False) -> Tensor:
    """Return all h_t of h_t = decay_t * h_{t-1} + value_t, in about 2 * sqrt(T) vector steps.

    Blocks of about sqrt(T) positions run side by side, then their ends are chained. Only products of decays in [0, 1]
    occur, and no divisions or logarithms, so nothing can overflow.

    Args:
        decay, value: [B, T, D] fp32, decay in [0, 1].
        start: [B, D] fp32, the value of h before the first position.
        reverse: run from the last position to the first.

    Returns:
        [B, T, D] fp32.
    """
    batch, size, width = value.shape
    length = 1 << (size.bit_length() // 2)  # of a block
    pad = -size % length
    if pad:
        edge = (pad, 0) if reverse else (0, pad)
        decay = functional.pad(decay, (0, 0, *edge), value=1.0)
        value = functional.pad(value, (0, 0, *edge))
    blocks = (size + pad) // length
    decay = decay.reshape(batch, blocks, length, width)
    value = value.reshape(batch, blocks, length, width)
    order = range(length - 1, -1, -1) if reverse else range(length)
    product, partial = decay[:, :, order[0]], value[:, :, order[0]]
    products, partials = [product], [partial]
    for i in order[1:]:
        partial = torch.addcmul(value[:, :, i], decay[:, :, i], partial)
        product = decay[:, :, i] * product
        products.append(product)
        partials.append(partial)
    entering = torch.empty_like(partial)  # [B, blocks, D], h before each block
    for block in range(blocks - 1, -1, -1) if reverse else range(blocks):
        entering[:, block] = start
        start = torch.addcmul(partial[:, block], product[:, block], start)
    states = torch.empty_like(value)
    for i, product, partial in zip(order, products, partials, strict=True):
        torch.addcmul(partial, product, entering, out=states[:, :, i])
    states = states.reshape(batch, blocks * length, width)
    return states[:, pad:] if reverse else states[:, :size]


class _LinearScan(torch.autograd.Function):
    """`_scan` with its gradient, which is the same scan in reverse."""

    @staticmethod
    def forward(ctx: Any, decay: Tensor, value: Tensor, start: Tensor) -> Tensor:
        states = _scan(decay, value, start)
        ctx.save_for_backward(decay, states, start)
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        decay, states, start = ctx.saved_tensors
        (grad,) = grads
        later = torch.cat([decay[:, 1:], torch.zeros_like(decay[:, :1])], 1)
        into = _scan(later, grad, torch.zeros_like(start), reverse=True)
        into_decay = torch.empty_like(decay)
        torch.mul(into[:, 1:], states[:, :-1], out=into_decay[:, 1:])
        torch.mul(into[:, 0], start, out=into_decay[:, 0])
        return into_decay, into, into[:, 0] * decay[:, 0]


def linear_scan(decay: Tensor, value: Tensor, start: Tensor) -> Tensor:
    """Compute h_t = decay_t * h_{t-1} + value_t along dimension 1, differentiably. Shapes are as in `_scan`."""
    states: Tensor = _LinearScan.apply(decay.float(), value.float(), start.float())  # type: ignore[no-untyped-call]
    return states


def _linear(x: Tensor, layer: nn.Linear) -> Tensor:
    """Apply the layer in the dtype of its weights, regardless of the dtype of `x`."""
    made: Tensor = layer(x.to(layer.weight.dtype))
    return made


def _norm(x: Tensor) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],))


class RecurrentLayer(nn.Module):
    """A gated linear recurrence and a perceptron, both residual."""

    def __init__(self, config: ByteLMConfig) -> None:
        super().__init__()
        width = config.width
        self.mix_in = nn.Linear(width, 3 * width, bias=False)
        self.mix_out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, config.expansion * width, bias=False)
        self.down = nn.Linear(config.expansion * width, width, bias=False)
        # memory spans from 1 to 1000 bytes, spread evenly over the channels on a log scale
        rate = torch.exp(-torch.linspace(0.1, math.log(1000.0), width))
        self.rate_bias = nn.Parameter(torch.log(rate / (1 - rate)))
        nn.init.zeros_(self.mix_out.weight)
        nn.init.zeros_(self.down.weight)

    def gates(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the recurrence's decay, input and output gate, each [B, T, D] fp32."""
        rate, value, gate = _linear(_norm(x), self.mix_in).float().chunk(3, -1)
        rate = torch.sigmoid(rate + self.rate_bias)
        return 1 - rate, rate * value, functional.silu(gate)

    def output(self, x: Tensor, states: Tensor, gate: Tensor) -> Tensor:
        """Return the residual stream [B, T, D] fp32 after the recurrence and the perceptron."""
        x = x + _linear(states * gate, self.mix_out).float()
        return x + _linear(functional.relu(_linear(_norm(x), self.up)).square(), self.down).float()

    def forward(self, x: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        """Map `x` [B, T, D] fp32 and the state [B, D] before it to the output [B, T, D] and the state after it."""
        decay, value, gate = self.gates(x)
        states = linear_scan(decay, value, start)
        return self.output(x, states, gate), states[:, -1]


class ByteLM(nn.Module):
    """Predicts next-byte logits from bytes, their contexts and a recurrent state."""

    def __init__(self, config: ByteLMConfig) -> None:
        super().__init__()
        self.config = config
        rows, contexts = 1 << config.table_bits, HASHED_CONTEXTS
        self.bytes = nn.Embedding(VOCABULARY, config.width)
        self.tables = nn.Embedding(contexts * rows, config.table_width)
        self.matched = nn.Embedding(1 + MATCH_LEVELS * VOCABULARY, config.match_width)
        inputs = contexts * config.table_width + len(MATCH_ORDERS) * config.match_width
        self.join = nn.Linear(inputs, config.width, bias=False)
        self.layers = nn.ModuleList(RecurrentLayer(config) for _ in range(config.layers))
        self.head = nn.Linear(config.width, VOCABULARY, bias=False)
        self.vote = nn.Linear(config.width, len(MATCH_ORDERS), bias=False)
        self.vote_bias = nn.Parameter(torch.zeros(1 + MATCH_LEVELS))
        for table in (self.bytes, self.tables, self.matched):
            nn.init.normal_(table.weight, std=0.5)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.vote.weight)

    def initial_state(self, batch: int) -> Tensor:
        """Return the initial state, zeros [L, B, D]."""
        return torch.zeros(self.config.layers, batch, self.config.width, device=self.bytes.weight.device)

    def forward(self, context: ByteContext, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits for the byte after each position.

        Args:
            context: fields with a leading batch dimension, [B, T] and [B, T, ...].
            state: [L, B, D] fp32, after the preceding positions.

        Returns:
            logits [B, T, 256] fp32 and the state [L, B, D] after the last position.
        """
        rows = torch.arange(HASHED_CONTEXTS, device=context.hashed.device) << self.config.table_bits
        hashed = self.tables(context.hashed + rows).flatten(-2)
        found = context.level > 0
        row = torch.where(found, (context.level - 1) * VOCABULARY + context.expected + 1, 0)
        joined = torch.cat([hashed, self.matched(row).flatten(-2)], -1)
        x = self.bytes(context.byte).float() + _linear(joined, self.join).float()
        ends = []
        for layer, start in zip(self.layers, state, strict=True):
            x, end = layer(x, start)
            ends.append(end)
        x = _norm(x)
        votes = _linear(x, self.vote).float() + self.vote_bias.float()[context.level]
        logits = _linear(x, self.head).float()
        logits = logits.scatter_add(-1, context.expected, torch.where(found, votes, 0.0))
        return logits, torch.stack(ends)
