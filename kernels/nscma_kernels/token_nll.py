"""Compute the negative log-likelihood of tokens, and entropy, from hidden states without materialising the logits.

With z_v = cap(h . w_v + b_v), cap(z) = c tanh(z / c) if there is a cap, and y the target:

    nll = log sum_v exp(z_v) - z_y        entropy = - sum_v p_v log p_v,  p = softmax(z)

Method: one tile of logits at a time, with a running maximum and sum (`vocabulary_tiles`), as in cut cross-entropy
(Wijmans et al. 2024, arXiv:2411.09009). The target is excluded from the sum, and its logit is computed separately. So
nll = log(1 + exp(log sum_{v != y} exp(z_v) - z_y)) is never negative, keeps its precision near zero, and isn't a
difference of two rounded numbers.

Legend: T tokens, V words in the vocabulary, d dimension.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nscma_kernels.implementation import Impl, on_triton
from nscma_kernels.vocabulary_tiles import FAR, Tiles

FLOATS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)


@overload
def token_nll(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    *,
    bias: Tensor | None = None,
    softcap: float | None = None,
    ignore_index: int = -100,
    return_entropy: Literal[False] = False,
    impl: Impl = "auto",
) -> Tensor: ...


@overload
def token_nll(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    *,
    bias: Tensor | None = None,
    softcap: float | None = None,
    ignore_index: int = -100,
    return_entropy: Literal[True],
    impl: Impl = "auto",
) -> tuple[Tensor, Tensor]: ...


def token_nll(
    hidden: Tensor,  # [..., d]
    weight: Tensor,  # [V, d]
    targets: Tensor,  # [...] integers, of 0 .. V - 1 or ignore_index
    *,
    bias: Tensor | None = None,  # [V]
    softcap: float | None = None,
    ignore_index: int = -100,
    return_entropy: bool = False,
    impl: Impl = "auto",
) -> Tensor | tuple[Tensor, Tensor]:
    """Return -log p(target) for each token in nats and, if requested, the entropy of its distribution in nats.

    Hidden states and weights must have the same dtype: float32, bfloat16, float16 or float64. Results are [...],
    float32 (float64 for float64 inputs). Ignored tokens cost nothing and are 0 in both results. A target belongs to the
    hidden state at the same position, so shift targets for next-token prediction. The bias is added before the cap.

    In addition to inputs and results, it needs memory for one tile and, in the backward pass, which recomputes each
    tile, for gradients. It is differentiable once in `hidden`, `weight` and `bias`, through both results, in plain
    torch on any device. The three matrix products of each tile dominate the cost.

    Error: sums are in float32 (float64 for float64 inputs), and a target's logit is a float32 sum of products. On a
    CPU, the other products of bfloat16 or float16 operands are rounded to that dtype, with a relative error of at most
    2^-9 or 2^-12. So the error of nll is at most that times the largest product, and much less if many words share the
    probability. On a GPU, no product is rounded. The same input gives the same bits on the same device with the same
    number of threads.

    As in log_softmax, a bias of -inf without a cap means a probability of zero, so nll = inf if it is the target's
    bias. If a token's hidden state contains NaN or infinity, or the token has no finite logit, only that token's result
    is NaN.

    Raises `ValueError` if shapes, dtypes, devices, targets, `softcap` or `impl` are invalid.
    """
    _check(hidden, weight, targets, bias, softcap, ignore_index)
    triton = on_triton(impl, hidden) and hidden.dtype != torch.float64
    flat, wanted = hidden.reshape(-1, hidden.shape[-1]), targets.reshape(-1).long()
    kept = wanted != ignore_index
    chosen = None if bool(kept.all()) else kept.nonzero()[:, 0]
    if chosen is not None:
        flat, wanted = flat[chosen], wanted[chosen]
    with torch.autocast(hidden.device.type, enabled=False):
        results = _TokenNLL.apply(  # type: ignore[no-untyped-call]
            flat, weight, wanted, bias, softcap, return_entropy, triton
        )
    if chosen is not None:
        results = tuple(part.new_zeros(len(kept)).index_put((chosen,), part) for part in results)
    nll, *entropy = (part.view(targets.shape) for part in results)
    return (nll, entropy[0]) if return_entropy else nll


class _TokenNLL(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,  # [T, d]
        weight: Tensor,
        targets: Tensor,  # [T] int64
        bias: Tensor | None,
        softcap: float | None,
        return_entropy: bool,
        triton: bool,
    ) -> tuple[Tensor, ...]:
        if triton:
            from nscma_kernels.triton.token_nll import sums

            rest, target = sums(hidden, weight, targets, bias, softcap, return_entropy)
        else:
            tiles = Tiles(hidden, weight, targets, bias, softcap)
            rest, target = tiles.sums(return_entropy), tiles.target_logits()
        nll, total, entropy = rest.finish(target)
        ctx.save_for_backward(hidden, weight, targets, bias, nll, total, entropy, rest.shift)
        ctx.softcap = softcap
        return (nll, entropy) if return_entropy else (nll,)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_nll: Tensor, by_entropy: Tensor | None = None) -> tuple[Tensor | None, ...]:
        """Return the gradients from g and e, the gradients of nll and entropy H.

        dz_v = p_v (g - e (log p_v + H)) - g [v = y], times cap'.
        """
        hidden, weight, targets, bias, nll, total, entropy, shift = ctx.saved_tensors
        for_hidden, for_weight, _, for_bias = ctx.needs_input_grad[:4]
        with torch.autocast(hidden.device.type, enabled=False):
            tiles = Tiles(hidden, weight, targets, bias, ctx.softcap)
            if shift is not None:  # the same products as before, so the probabilities sum to one
                total = total - shift
            at_target = by_nll * torch.expm1(-nll)
            if by_entropy is not None:
                at_target -= by_entropy * torch.exp(-nll) * (entropy - nll.clamp(max=-FAR))
            if ctx.softcap is not None:
                at_target *= 1 - (tiles.target_logits() / ctx.softcap) ** 2
            d_hidden = torch.zeros_like(hidden, dtype=tiles.dtype)
            d_weight = torch.empty_like(weight) if for_weight else None
            if d_weight is not None and len(hidden) == 0:
                d_weight.zero_()
            d_bias = hidden.new_zeros(len(weight), dtype=tiles.dtype)
            whole = None  # gradient of a tile's words, where several blocks of tokens add to it
            for v, t in tiles:
                held, place = tiles.logits(v, t) if shift is None else tiles.shifted(v, t, shift)
                z = held[:-1]
                slope = None if ctx.softcap is None else 1 - (z / ctx.softcap) ** 2
                z -= total[t]
                if by_entropy is None:
                    z.exp_().mul_(by_nll[t])
                else:
                    p = z.clamp_(min=FAR).exp()
                    z.add_(entropy[t]).mul_(-by_entropy[t]).add_(by_nll[t]).mul_(p)
                if slope is not None:
                    z *= slope
                held.scatter_(0, place, 0.0)
                if for_hidden:
                    d_hidden[t] += torch.mm(tiles.rounded(held)[:-1].T, weight[v])
                held.scatter_(0, place, at_target[None, t])
                if for_bias:
                    d_bias[v] += z.sum(1)
                if d_weight is not None and tiles.tokens >= len(hidden):
                    torch.mm(tiles.rounded(held)[:-1], hidden[t], out=d_weight[v])
                elif d_weight is not None:
                    part = torch.mm(tiles.rounded(held)[:-1], hidden[t])
                    whole = part.to(tiles.dtype) if t.start == 0 or whole is None else whole.add_(part)
                    if t.stop == len(hidden):
                        d_weight[v] = whole.to(weight.dtype)
            for t in tiles.blocks() if for_hidden else ():
                d_hidden[t] += at_target[t, None] * weight[targets[t]]
        return (
            d_hidden.to(hidden.dtype) if for_hidden else None,
            d_weight,
            None,
            d_bias.to(bias.dtype) if for_bias else None,
            *(None,) * 3,
        )


def _check(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None,
    softcap: float | None,
    ignore_index: int,
) -> None:
    if hidden.ndim < 1 or weight.ndim != 2 or hidden.shape[-1] != weight.shape[1] or hidden.shape[:-1] != targets.shape:
        raise ValueError(
            "hidden [..., d], weight [V, d] and targets [...] expected, "
            f"got {[*hidden.shape]}, {[*weight.shape]} and {[*targets.shape]}"
        )
    if 0 in weight.shape:
        raise ValueError(f"weight must have at least one word and one dimension, got {[*weight.shape]}")
    if hidden.dtype not in FLOATS or hidden.dtype != weight.dtype:
        raise ValueError(
            "hidden and weight must both be float32, bfloat16, float16 or float64, "
            f"got {hidden.dtype} and {weight.dtype}: convert one to the other's"
        )
    if targets.is_floating_point() or targets.is_complex() or targets.dtype == torch.bool:
        raise ValueError(f"targets must be integers, got {targets.dtype}")
    if bias is not None and (bias.shape != weight.shape[:1] or not bias.is_floating_point()):
        raise ValueError(f"bias must be [{len(weight)}] of floats, got {[*bias.shape]} {bias.dtype}")
    devices = {tensor.device for tensor in (hidden, weight, targets, bias) if tensor is not None}
    if len(devices) > 1:
        raise ValueError(f"all tensors must be on one device, got {', '.join(sorted(map(str, devices)))}")
    if softcap is not None and not 0 < softcap < torch.inf:
        raise ValueError(f"softcap must be a number above 0, or None, got {softcap}")
    wrong = ((targets < 0) | (targets >= len(weight))) & (targets != ignore_index)
    if bool(wrong.any()):
        raise ValueError(
            f"targets must be in 0 .. {len(weight) - 1}, or ignore_index = {ignore_index}, got {int(targets[wrong][0])}"
        )
