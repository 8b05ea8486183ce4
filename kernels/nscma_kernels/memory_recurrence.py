"""The recurrence of `memory_scan` over whole chunks, and its gradient.

For chunk n with gradient G_n (a sum over its tokens, taken at the weights of its segment's start): S_n = eta_n S_{n-1}
- G_n and W_n = keep_n W_{n-1} + S_n, in place. The forward pass stores one W and one S. The backward pass runs the same
recurrence in reverse. It needs every W_n and S_n once, so it recomputes them block by block from checkpoints and stores
only about 2 sqrt(N) pairs at a time.

Legend: B memories, T queries, N chunks of C tokens, L layers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nscma_kernels.memory_layers import Gradients, gradients, recall, recall_gradients

TOKENS = 256  # rows per gradient computation; CPU libraries multiply more at a third of the speed


class Plan(NamedTuple):
    """The layout of the chunks."""

    chunk: int  # C
    segment: int | None  # chunks; None: one that never ends
    done: int  # chunks of the first segment that were read before
    first: int  # queries that read the weights as they came
    norm: bool  # of what the memory recalls
    triton: bool

    def ends(self, chunk: int) -> bool:
        """Return True if a segment ends with the chunk with this number; -1 is the last chunk before the first one
        here.
        """
        return self.segment is not None and (self.done + chunk + 1) % self.segment == 0

    def reads(self, chunk: int, queries: int) -> slice:
        """Return the queries that read the weights as they are after the given chunk."""
        begin = 0 if chunk < 0 else min(queries, self.first + chunk * self.chunk)
        return slice(begin, min(queries, self.first + (chunk + 1) * self.chunk))

    def keeps_base(self, number: int) -> bool:
        """Return True if a segment begins within the first `number` chunks and doesn't end with them."""
        began = any(self.ends(begin - 1) for begin, _ in self.pieces(0, number))
        return began and not self.ends(number - 1)

    def pieces(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield runs of chunks, each within one segment and with at most about `TOKENS` tokens."""
        most = max(1, TOKENS // self.chunk)
        while begin < end:
            stop = min(end, begin + most)
            if self.segment is not None:
                stop = min(stop, begin + self.segment - (self.done + begin) % self.segment)
            yield begin, stop
            begin = stop


class Tokens(NamedTuple):
    """Tensors for the tokens in the chunks."""

    k: Tensor  # [B, N * C, D]
    v: Tensor  # [B, N * C, E]
    theta: Tensor  # [B, N * C]
    eta: Tensor  # [B, N]
    keep: Tensor  # [B, N], 1 - alpha
    written: Tensor | None  # [B, N], 0 if a chunk leaves its stream's memory unchanged, else 1

    def gradients(self, plan: Plan, begin: int, end: int, base: Sequence[Tensor]) -> Gradients:
        part = slice(begin * plan.chunk, end * plan.chunk)
        return gradients(self.k[:, part], self.v[:, part], self.theta[:, part], base, plan.norm)

    def gates(self, chunk: int) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return eta, keep and written for a chunk, each [B, 1, 1]."""
        eta, keep, written = (None if gate is None else gate[:, chunk, None, None] for gate in self[3:])
        assert eta is not None and keep is not None
        return eta, keep, written


def chunk_recurrence(
    plan: Plan, q: Tensor, tokens: Tokens, weights: Sequence[Tensor], momentum: Sequence[Tensor], base: Sequence[Tensor]
) -> tuple[Tensor, Tensor, list[Tensor], list[Tensor], list[Tensor]]:
    """Return, differentiably, outputs [B, T, E], losses [B, N * C], and the weights, momentum and base after the last
    chunk.
    """
    depth, number = len(weights), tokens.eta.shape[1]
    if torch.compiler.is_compiling():
        from nscma_kernels.memory_operator import memory_forward

        out, loss, *memory = memory_forward(*plan, q, *tokens, [*weights, *momentum, *base])
    else:
        out, loss, *memory = _Recurrence.apply(plan, q, *tokens, *weights, *momentum, *base)  # type: ignore[no-untyped-call]
    after = memory[:depth]
    last = after if plan.ends(number - 1) else memory[2 * depth :] or list(base)
    return out, loss, after, memory[depth : 2 * depth], last


class _Recurrence(torch.autograd.Function):
    """`run_forward`, differentiable once."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, q: Tensor, *given: Any) -> tuple[Tensor, ...]:
        ctx.save_for_backward(q, *given)
        ctx.plan = plan
        ctx.set_materialize_grads(False)
        return run_forward(plan, q, Tokens(*given[:6]), given[6:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        q, *given = ctx.saved_tensors
        return None, *run_backward(ctx.plan, q, Tokens(*given[:6]), given[6:], grads)


def run_forward(plan: Plan, q: Tensor, tokens: Tokens, memory: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return output, loss, W and S, from the given W, S and base. If a segment began and didn't end, return its base as
    well.
    """
    depth, number = len(memory) // 3, tokens.eta.shape[1]
    weights = _copies(memory[:depth])
    momentum = _copies(memory[depth : 2 * depth])
    base: Sequence[Tensor] = memory[2 * depth :]
    out = q.new_empty(*q.shape[:2], weights[-1].shape[2])
    loss = torch.empty_like(tokens.theta)
    _read(plan, -1, q, weights, out)
    for begin, end in plan.pieces(0, number):
        if plan.ends(begin - 1):
            base = weights if plan.ends(end - 1) else _copies(weights)
        found = tokens.gradients(plan, begin, end, base)
        loss[:, begin * plan.chunk : end * plan.chunk] = found.loss
        for chunk in range(begin, end):
            _advance(plan, chunk, begin, found, tokens, weights, momentum)
            _read(plan, chunk, q, weights, out)
    return out, loss, *weights, *momentum, *(base if plan.keeps_base(number) else ())


def run_backward(
    plan: Plan, q: Tensor, tokens: Tokens, memory: Sequence[Tensor], grads: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Return the gradients of q, the tokens and the memory, in this order, from the gradients of `run_forward`'s
    results.
    """
    with torch.autocast(q.device.type, enabled=False):
        reverse = _Reverse(plan, q, tokens, len(memory) // 3, grads)
        reverse.run(memory)
    return reverse.results()


def _copies(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [tensor.clone(memory_format=torch.contiguous_format) for tensor in tensors]


def _inner(one: Tensor, other: Tensor) -> Tensor:
    """Return the inner products of B pairs of matrices, without allocating a copy of their size."""
    return (one.view(len(one), 1, -1) @ other.reshape(len(one), -1, 1))[:, 0, 0]


def _read(plan: Plan, chunk: int, q: Tensor, weights: Sequence[Tensor], out: Tensor) -> None:
    part = plan.reads(chunk, q.shape[1])
    if part.start < part.stop:
        out[:, part] = recall(q[:, part], weights, plan.norm)


def _advance(
    plan: Plan,
    chunk: int,
    begin: int,  # chunk with which `found` begins
    found: Gradients,
    tokens: Tokens,
    weights: Sequence[Tensor],
    momentum: Sequence[Tensor],
) -> None:
    """Set S = eta S - x^T delta and W = keep W + written S in every layer, in place."""
    part = slice((chunk - begin) * plan.chunk, (chunk - begin + 1) * plan.chunk)
    eta, keep, written = tokens.gates(chunk)
    for weight, moment, x, delta in zip(weights, momentum, found.inputs, found.delta, strict=True):
        if plan.triton:
            from nscma_kernels.triton.memory_scan import advance

            advance(weight, moment, x[:, part], delta[:, part], eta, keep, written)
            continue
        moment.mul_(eta).baddbmm_(x[:, part].mT, delta[:, part], alpha=-1)
        torch.addcmul(moment if written is None else moment * written, weight, keep, out=weight)


class _Reverse:
    """The recurrence in reverse, which computes the gradients of its inputs from the gradients of its outputs."""

    def __init__(self, plan: Plan, q: Tensor, tokens: Tokens, depth: int, grads: Sequence[Tensor | None]) -> None:
        self.plan, self.q, self.tokens, self.depth = plan, q, tokens, depth
        self.out, self.loss, *into = grads
        self.into_q, self.into_k, self.into_v = map(torch.zeros_like, (q, tokens.k, tokens.v))
        self.into_theta, self.into_eta, self.into_keep = map(torch.zeros_like, (tokens.theta, tokens.eta, tokens.keep))
        self.into = into  # of W, S and perhaps base
        self.held: list[tuple[list[Tensor], ...]] = []

    def results(self) -> list[Tensor | None]:
        """Return the gradients in the order of the inputs."""
        tokens = [self.into_k, self.into_v, self.into_theta, self.into_eta, self.into_keep, None]
        return [self.into_q, *tokens, *self.into_weights, *self.into_momentum, *self.into_base]

    def run(self, memory: Sequence[Tensor]) -> None:
        """Run the reverse pass; `memory` is the initial W, S and base."""
        depth, number = self.depth, self.tokens.eta.shape[1]

        def start(grads: Sequence[Tensor | None]) -> list[Tensor]:
            if not grads:
                grads = [None] * depth
            return [
                torch.zeros_like(weight) if grad is None else grad.clone()
                for weight, grad in zip(memory[:depth], grads, strict=True)
            ]

        self.into_weights, self.into_momentum = start(self.into[:depth]), start(self.into[depth : 2 * depth])
        self.into_base = start(self.into[2 * depth :])
        stride = math.isqrt(number - 1) + 1
        checkpoints = self._checkpoints(memory, stride)
        while checkpoints:
            begin = (len(checkpoints) - 1) * stride
            self._block(begin, min(number, begin + stride), checkpoints.pop())
        self._unread(-1, memory[:depth])

    def _checkpoints(self, memory: Sequence[Tensor], stride: int) -> list[Sequence[Tensor]]:
        """Return W, S and base before every `stride`-th chunk."""
        depth, number, kept = self.depth, self.tokens.eta.shape[1], [memory]
        weights = _copies(memory[:depth])
        momentum = _copies(memory[depth : 2 * depth])
        base = list(memory[2 * depth :])
        for first in range(0, number - stride, stride):
            for begin, end in self.plan.pieces(first, first + stride):
                if self.plan.ends(begin - 1):
                    base = _copies(weights)
                found = self.tokens.gradients(self.plan, begin, end, base)
                for chunk in range(begin, end):
                    _advance(self.plan, chunk, begin, found, self.tokens, weights, momentum)
            kept.append([*_copies(weights), *_copies(momentum), *base])
        return kept

    def _block(self, first: int, last: int, memory: Sequence[Tensor]) -> None:
        """Process the chunks from `first` to `last`: compute all their states forward, then their gradients
        backward.
        """
        depth = self.depth
        weights, momentum, base = [memory[:depth]], [memory[depth : 2 * depth]], memory[2 * depth :]
        pieces = []
        for begin, end in self.plan.pieces(first, last):
            if self.plan.ends(begin - 1):
                base = weights[-1]
            with torch.enable_grad():
                part = slice(begin * self.plan.chunk, end * self.plan.chunk)
                leaves = [
                    tensor.detach().requires_grad_()
                    for tensor in (self.tokens.k[:, part], self.tokens.v[:, part], self.tokens.theta[:, part], *base)
                ]
                found = gradients(leaves[0], leaves[1], leaves[2], leaves[3:], self.plan.norm)
            pieces.append((begin, end, leaves, found))
            held = Gradients([x.detach() for x in found.inputs], [d.detach() for d in found.delta], found.loss)
            for chunk in range(begin, end):
                after = self._space(chunk - first, weights[-1], momentum[-1])
                _advance(self.plan, chunk, begin, held, self.tokens, *after)
                weights.append(after[0])
                momentum.append(after[1])
        for begin, end, leaves, found in reversed(pieces):
            self._piece(begin, end, leaves, found, weights, momentum)

    def _space(self, place: int, *states: Sequence[Tensor]) -> tuple[list[Tensor], ...]:
        """Copy the states into memory that is reused for each block, because fresh pages cost as much as the step."""
        if place == len(self.held):
            self.held.append(tuple([torch.empty(w.shape, dtype=w.dtype, device=w.device) for w in s] for s in states))
        for copies, state in zip(self.held[place], states, strict=True):
            for copy, tensor in zip(copies, state, strict=True):
                copy.copy_(tensor)
        return self.held[place]

    def _piece(
        self,
        begin: int,
        end: int,
        leaves: list[Tensor],
        found: Gradients,
        weights: list[Sequence[Tensor]],
        momentum: list[Sequence[Tensor]],
    ) -> None:
        """Process a piece and pop the states after each of its chunks from the lists."""
        into_inputs = [torch.zeros_like(x) for x in found.inputs]
        into_delta = [torch.zeros_like(delta) for delta in found.delta]
        for chunk in range(end - 1, begin - 1, -1):
            self._unread(chunk, weights.pop())
            momentum.pop()
            part = slice((chunk - begin) * self.plan.chunk, (chunk - begin + 1) * self.plan.chunk)
            eta, keep, written = self.tokens.gates(chunk)
            for layer in range(self.depth):
                weight, moment = self.into_weights[layer], self.into_momentum[layer]
                moment.add_(weight if written is None else weight * written)
                x, delta = found.inputs[layer].detach()[:, part], found.delta[layer].detach()[:, part]
                into_inputs[layer][:, part].baddbmm_(delta, moment.mT, alpha=-1)
                into_delta[layer][:, part].baddbmm_(x, moment, alpha=-1)
                self.into_eta[:, chunk] += _inner(moment, momentum[-1][layer])
                self.into_keep[:, chunk] += _inner(weight, weights[-1][layer])
                moment.mul_(eta)
                weight.mul_(keep)
        part = slice(begin * self.plan.chunk, end * self.plan.chunk)
        outputs, into = [*found.inputs[1:], *found.delta], [*into_inputs[1:], *into_delta]
        if self.loss is not None:
            outputs.append(found.loss)
            into.append(self.loss[:, part])
        k, v, theta, *base = torch.autograd.grad(outputs, leaves, into)
        self.into_k[:, part] = k + into_inputs[0]
        self.into_v[:, part] = v
        self.into_theta[:, part] = theta
        for total, grad in zip(self.into_base, base, strict=True):
            total.add_(grad)
        if self.plan.ends(begin - 1):  # the base was the weights before this piece
            for weight, total in zip(self.into_weights, self.into_base, strict=True):
                weight.add_(total)
                total.zero_()

    def _unread(self, chunk: int, weights: Sequence[Tensor]) -> None:
        """Add the gradients from the queries that read the weights after this chunk."""
        part = self.plan.reads(chunk, self.q.shape[1])
        if self.out is None or part.start == part.stop:
            return
        self.into_q[:, part], inputs, delta = recall_gradients(
            self.q[:, part], weights, self.plan.norm, self.out[:, part]
        )
        for total, x, at in zip(self.into_weights, inputs, delta, strict=True):
            total.baddbmm_(x.mT, at)
