"""Process one chunk of `memory_scan` on a GPU: S = eta S - x^T delta and W = keep W + written S, in one pass over S and
W.

A separate matrix product, scaling and weighted sum would read and write S three times and W twice, and this traffic
dominates the cost for short chunks. Every tile of S and W belongs to one program, so results don't depend on the order
of programs.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,type-arg"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BI, BJ, BC = 64, 64, 32  # rows and columns of a tile, tokens at a time
WARPS = 4


@triton.jit
def advance_kernel(
    weight,  # [B, I, J] contiguous
    moment,  # [B, I, J] contiguous
    x,  # [B, C, I], last dimension contiguous
    delta,  # [B, C, J], last dimension contiguous
    eta,  # [B]
    keep,  # [B]
    written,  # [B], or anything where not masked
    rows,  # I
    columns,  # J
    length,  # C
    x_batch,  # strides, in elements
    x_row,
    delta_batch,
    delta_row,
    eta_batch,
    keep_batch,
    written_batch,
    masked: tl.constexpr,
    block_i: tl.constexpr,
    block_j: tl.constexpr,
    block_c: tl.constexpr,
):
    batch = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * block_i + tl.arange(0, block_i)
    j = tl.program_id(1) * block_j + tl.arange(0, block_j)
    gradient = tl.zeros([block_i, block_j], tl.float32)
    for begin in range(0, length, block_c):
        c = begin + tl.arange(0, block_c)
        one = tl.load(
            x + batch * x_batch + c[None, :] * x_row + i[:, None],
            mask=(c[None, :] < length) & (i[:, None] < rows),
            other=0.0,
        )
        other = tl.load(
            delta + batch * delta_batch + c[:, None] * delta_row + j[None, :],
            mask=(c[:, None] < length) & (j[None, :] < columns),
            other=0.0,
        )
        gradient = tl.dot(one, other, gradient, input_precision="tf32x3")
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    place = batch * rows * columns + i[:, None] * columns + j[None, :]
    s = tl.load(moment + place, mask=inside, other=0.0)
    w = tl.load(weight + place, mask=inside, other=0.0)
    s = tl.load(eta + batch * eta_batch) * s - gradient
    share = s
    if masked:
        share = tl.load(written + batch * written_batch) * s
    tl.store(moment + place, s, mask=inside)
    tl.store(weight + place, tl.load(keep + batch * keep_batch) * w + share, mask=inside)


def advance(
    weight: Tensor,  # [B, I, J]
    moment: Tensor,  # [B, I, J]
    x: Tensor,  # [B, C, I]
    delta: Tensor,  # [B, C, J]
    eta: Tensor,  # [B, 1, 1]
    keep: Tensor,  # [B, 1, 1]
    written: Tensor | None,  # [B, 1, 1]
) -> None:
    """Update `weight` and `moment` in place. Both must be float32 and contiguous."""
    batch, rows, columns = weight.shape
    x, delta = (tensor if tensor.stride(2) == 1 else tensor.contiguous() for tensor in (x, delta))
    grid = (triton.cdiv(rows, BI), triton.cdiv(columns, BJ), batch)
    with torch.cuda.device_of(weight):
        advance_kernel[grid](
            weight,
            moment,
            x,
            delta,
            eta,
            keep,
            keep if written is None else written,
            rows,
            columns,
            x.shape[1],
            x.stride(0),
            x.stride(1),
            delta.stride(0),
            delta.stride(1),
            eta.stride(0),
            keep.stride(0),
            keep.stride(0) if written is None else written.stride(0),
            masked=written is not None,
            block_i=BI,
            block_j=BJ,
            block_c=BC,
            num_warps=WARPS,
        )
