"""The memory of `memory_scan`: what it recalls, its loss, and the gradients of one token after another.

M(x) = gelu(... gelu(x W_1) ...) W_L, or with `norm`, as test-time-training layers have it (Sun et al. 2024, "Learning
to (Learn at Test Time)", section 2.7), M(x) = x + norm(gelu(... gelu(x W_1) ...) W_L): there errors are bounded and
steps shrink as weights grow, so that a repetitive stream does not drive them to infinity. In batches, without biases,
and without the gain that the norm has there: a gain learns from every token and grows as a weight without norm does.

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
    """Of T tokens: the gradient with respect to W_i is the sum of inputs[i]^T delta[i]."""

    inputs: list[Tensor]  # for each weight [B, T, in]
    delta: list[Tensor]  # for each weight [B, T, out]
    loss: Tensor  # [B, T], without theta


def recall(x: Tensor, weights: Sequence[Tensor], norm: bool) -> Tensor:
    """M(x) of x [B, T, D] -> [B, T, E]."""
    out = x
    for weight in weights[:-1]:
        out = functional.gelu(out @ weight)
    out = out @ weights[-1]
    return x + functional.layer_norm(out, out.shape[-1:], eps=EPSILON) if norm else out


def squared_error(k: Tensor, v: Tensor, weights: Sequence[Tensor], norm: bool) -> Tensor:
    """l = ||M(k) - v||^2 of each token, [B, T]."""
    return (recall(k, weights, norm) - v).square().sum(-1)


def gradients(k: Tensor, v: Tensor, theta: Tensor, weights: Sequence[Tensor], norm: bool) -> Gradients:
    """Of theta_t ||M(k_t) - v_t||^2 for k [B, T, D], v [B, T, E], theta [B, T]; differentiable."""
    inputs, hidden = [k], []
    for weight in weights[:-1]:
        hidden.append(inputs[-1] @ weight)
        inputs.append(functional.gelu(hidden[-1]))
    out = inputs[-1] @ weights[-1]
    if norm:
        out = out - out.mean(-1, keepdim=True)
        scale = (out.square().mean(-1, keepdim=True) + EPSILON).rsqrt()
        out = out * scale
        error = k + out - v
    else:
        error = out - v
    at_out = 2 * theta[..., None] * error
    if norm:
        at_out = scale * (at_out - at_out.mean(-1, keepdim=True) - out * (at_out * out).mean(-1, keepdim=True))
    delta = [at_out]
    for weight, before in zip(reversed(weights[1:]), reversed(hidden), strict=True):
        delta.append(torch.ops.aten.gelu_backward(delta[-1] @ weight.mT, before))
    return Gradients(inputs, delta[::-1], error.square().sum(-1))
