"""Random tokens and memories for the tests of `memory_scan`, and the recurrence written out literally."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nscma_kernels import MemoryState


class Given(NamedTuple):
    q: Tensor
    k: Tensor
    v: Tensor
    theta: Tensor
    eta: Tensor
    alpha: Tensor

    def part(self, begin: int, end: int | None) -> Given:
        return Given(*(tensor[:, begin:end] for tensor in self))


def drawn(
    batch: int, length: int, widths: tuple[int, ...], norm: bool = False, dtype: torch.dtype = torch.float64
) -> tuple[Given, MemoryState]:
    """Tokens, and a memory of the given widths; steps and forgetting so small that rounding errors do not grow."""
    generator = torch.Generator().manual_seed(length + sum(widths))

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    q, k = (functional.normalize(random(batch, length, widths[0]), dim=-1) for _ in range(2))
    theta = 0.05 * random(batch, length).sigmoid()
    alpha = random(batch, length) - 5
    given = Given(q, k, random(batch, length, widths[-1]), theta, random(batch, length), alpha)
    weights = [random(batch, into, out) / into**0.5 for into, out in pairwise(widths)]
    return given, MemoryState.fresh(tuple(weights), norm=norm)


def literal(given: Given, state: MemoryState, chunk: int, segment: int | None) -> tuple[Tensor, list[Tensor], Tensor]:
    """Outputs, weights and losses, token by token, gradients by autograd; all tokens but a last, short chunk."""
    weights, momentum = list(state.weights), list(state.momentum)
    base, total, outputs, losses = weights, [torch.zeros_like(weight) for weight in weights], [], []
    for t in range(given.q.shape[1]):
        if segment is not None and t % segment == 0:
            base = weights
        theta = given.theta[:, t, None, None]
        loss, grads = surprise(given.k[:, t : t + 1], given.v[:, t : t + 1], base, state.norm)
        losses.append(loss)
        total = [one + theta * grad for one, grad in zip(total, grads, strict=True)]
        if (t + 1) % chunk == 0:
            eta, alpha = (
                gate[:, t + 1 - chunk : t + 1].mean(1).sigmoid()[:, None, None] for gate in (given.eta, given.alpha)
            )
            momentum = [eta * before - grad for before, grad in zip(momentum, total, strict=True)]
            weights = [(1 - alpha) * before + step for before, step in zip(weights, momentum, strict=True)]
            total = [torch.zeros_like(weight) for weight in weights]
        outputs.append(mlp(given.q[:, t : t + 1], weights, state.norm))
    return torch.cat(outputs, 1), weights, torch.stack(losses, 1)


def mlp(x: Tensor, weights: list[Tensor], norm: bool) -> Tensor:
    out = x
    for weight in weights[:-1]:
        out = functional.gelu(out @ weight)
    out = out @ weights[-1]
    return x + functional.layer_norm(out, out.shape[-1:]) if norm else out


def surprise(k: Tensor, v: Tensor, weights: list[Tensor], norm: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    leaves = [weight.detach().requires_grad_() for weight in weights]
    with torch.enable_grad():
        loss = (mlp(k, leaves, norm) - v).square().sum((1, 2))
        return loss.detach(), torch.autograd.grad(loss.sum(), leaves)
