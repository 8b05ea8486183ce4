"""The memory of `memory_scan`: its recall, its loss, and per-token gradients.

M(x) = gelu(... gelu(x W_1) ...) W_L, or with `norm`, as in test-time-training layers (Sun et al. 2024, "Learning to
(Learn at Test Time)", section 2.7), M(x) = x + norm(gelu(... gelu(x W_1) ...) W_L). With the norm, errors are bounded
and steps shrink as weights grow, so a repetitive stream doesn't drive the weights to infinity. The memory is batched
and has no biases. It also omits that paper's gain for the norm, because a gain learns from every token and grows like a
weight without norm.

The gradient of theta_t l_t with respect to W_i is x_i^T delta_i, an outer product for each token, so tokens are kept
as x_i and delta_i, and sums over them are matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

EPSILON = 1e-5  # of the norm


class Gradients(NamedTuple):
    """Gradients for T tokens. The gradient with respect to W_i is the sum of inputs[i]^T delta[i]."""

    inputs: list[Tensor]  # L of [B, T, in]
    delta: list[Tensor]  # L of [B, T, out]
    loss: Tensor  # [B, T], without theta


def recall(x: Tensor, weights: Sequence[Tensor], norm: bool) -> Tensor:
    """Return M(x) [B, T, E] for `x` [B, T, D]."""
    out = x
    for weight in weights[:-1]:
        out = functional.gelu(out @ weight)
    out = out @ weights[-1]
    return x + functional.layer_norm(out, out.shape[-1:], eps=EPSILON) if norm else out


def squared_error(k: Tensor, v: Tensor, weights: Sequence[Tensor], norm: bool) -> Tensor:
    """Return the loss l = ||M(k) - v||^2 [B, T] for each token."""
    return (recall(k, weights, norm) - v).square().sum(-1)


def gradients(k: Tensor, v: Tensor, theta: Tensor, weights: Sequence[Tensor], norm: bool) -> Gradients:
    """Return the gradients of theta_t ||M(k_t) - v_t||^2, differentiably, for k [B, T, D], v [B, T, E] and theta [B,
    T].
    """
    passed = _Pass(k, weights, norm)
    error = passed.out - v
    return Gradients(passed.inputs, passed.delta(2 * theta[..., None] * error), error.square().sum(-1))


def recall_gradients(
    x: Tensor, weights: Sequence[Tensor], norm: bool, at: Tensor
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Return the gradients of M(x) from the gradient `at` [B, T, E] of its result: the gradient of `x`, then inputs and
    delta as in `Gradients`.
    """
    passed = _Pass(x, weights, norm)
    delta = passed.delta(at)
    into = delta[0] @ weights[0].mT
    return into + at if norm else into, passed.inputs, delta


class _Pass:
    """One pass of x [B, T, D] through the memory, and back."""

    def __init__(self, x: Tensor, weights: Sequence[Tensor], norm: bool) -> None:
        self.inputs: list[Tensor] = [x]
        self._hidden: list[Tensor] = []
        self._weights, self._scale = weights, None
        for weight in weights[:-1]:
            self._hidden.append(self.inputs[-1] @ weight)
            self.inputs.append(functional.gelu(self._hidden[-1]))
        self.out = self.inputs[-1] @ weights[-1]
        if norm:
            centred = self.out - self.out.mean(-1, keepdim=True)
            self._scale = (centred.square().mean(-1, keepdim=True) + EPSILON).rsqrt()
            self._normed = centred * self._scale
            self.out = x + self._normed

    def delta(self, at: Tensor) -> list[Tensor]:
        """Return, for each weight, the gradient of its output, from the gradient `at` [B, T, E] of `out`."""
        if self._scale is not None:
            along = (at * self._normed).mean(-1, keepdim=True)
            at = self._scale * (at - at.mean(-1, keepdim=True) - self._normed * along)
        delta = [at]
        for weight, hidden in zip(reversed(self._weights[1:]), reversed(self._hidden), strict=True):
            delta.append(torch.ops.aten.gelu_backward(delta[-1] @ weight.mT, hidden))
        return delta[::-1]
