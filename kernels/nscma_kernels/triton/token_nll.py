"""`token_nll` on a GPU. Logits stay in registers, one tile at a time, and only three sums per split are written.

A program processes a tile of tokens and a share of the vocabulary, called a split, and keeps a running maximum and sum
as in online softmax. If the split contains a token's target, the program stores the target's logit and excludes it from
the sum. A second kernel merges the splits in order. There are no atomic additions, and programs don't wait for each
other, so results have the same bits in every run.

exp(x) is computed as exp2(x log2(e)). The multiplication is applied to differences between logits, because applied to a
logit it would round away bits.

Legend: T tokens, V words, d dimension, S splits; a tile is block_t tokens by block_v words.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,type-arg"
from __future__ import annotations

import functools
from contextlib import nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor

from nscma_kernels.vocabulary_tiles import Sums

LOG2E = tl.constexpr(1.4426950408889634)
LOWEST = tl.constexpr(-1.0e38)  # no logit is less, and its difference to itself is zero
FAR = tl.constexpr(-150.0)  # exp of it is zero


@triton.jit
def partial_kernel(
    hidden_ptr,  # [T, d]
    weight_ptr,  # [V, d]
    bias_ptr,  # [V] float32
    target_ptr,  # [T] int64
    top_ptr,  # [S, T] float32, out: the largest logit of the split but the target's
    total_ptr,  # [S, T] float32, out: sum of exp(z - top)
    moment_ptr,  # [S, T] float32, out: sum of exp(z - top) (z - top)
    logit_ptr,  # [T] float32, out: the target's logit
    tokens,  # T
    words,  # V
    d,
    hidden_row,  # stride
    weight_row,
    share,  # words of a split, a multiple of block_v
    softcap,
    biased: tl.constexpr,
    softcapped: tl.constexpr,
    moments: tl.constexpr,
    block_t: tl.constexpr,
    block_v: tl.constexpr,
    block_d: tl.constexpr,
):
    # tiles of tokens come first, so concurrent programs read the same words
    i = tl.program_id(0) * block_t + tl.arange(0, block_t)
    split = tl.program_id(1)
    begin = split * share
    end = tl.minimum(begin + share, words)
    known = i < tokens
    target = tl.load(target_ptr + i, mask=known, other=-1)
    top = tl.full((block_t,), LOWEST, tl.float32)
    total = tl.zeros((block_t,), tl.float32)
    moment = tl.zeros((block_t,), tl.float32)
    logit = tl.zeros((block_t,), tl.float32)
    hidden_at = hidden_ptr + i[:, None].to(tl.int64) * hidden_row
    for first in range(begin, end, block_v):
        j = first + tl.arange(0, block_v)
        weight_at = weight_ptr + j[None, :].to(tl.int64) * weight_row
        z = tl.zeros((block_t, block_v), tl.float32)
        for start in range(0, d, block_d):
            c = start + tl.arange(0, block_d)
            left = tl.load(hidden_at + c[None, :], mask=known[:, None] & (c < d)[None, :], other=0.0)
            right = tl.load(weight_at + c[:, None], mask=(j < words)[None, :] & (c < d)[:, None], other=0.0)
            z = tl.dot(left, right, z, input_precision="ieee")
        if biased:
            z += tl.load(bias_ptr + j, mask=j < words, other=0.0)[None, :]
        if softcapped:
            e = tl.exp2(tl.abs(z) * (-2 * LOG2E) / softcap)  # of tanh |z / c| = (1 - e) / (1 + e)
            size = softcap * (1 - e) / (1 + e)
            z = tl.where(z < 0, -size, size)
        if tl.max(((target >= first) & (target < first + block_v)).to(tl.int32)) > 0:
            hit = target[:, None] == j[None, :]
            logit += tl.sum(tl.where(hit, z, 0.0), axis=1)
            z = tl.where(hit, -float("inf"), z)
        z = tl.where((j < end)[None, :], z, -float("inf"))
        new = tl.maximum(top, tl.max(z, axis=1))
        z -= new[:, None]
        fall = top - new
        scale = tl.exp2(fall * LOG2E)
        if moments:
            z = tl.where(z < FAR, FAR, z)
            p = tl.exp2(z * LOG2E)
            moment = scale * (moment + tl.where(fall < FAR, FAR, fall) * total) + tl.sum(p * z, axis=1)
        else:
            p = tl.exp2(z * LOG2E)
        total = scale * total + tl.sum(p, axis=1)
        top = new
    at = split.to(tl.int64) * tokens + i
    tl.store(top_ptr + at, top, mask=known)
    tl.store(total_ptr + at, total, mask=known)
    if moments:
        tl.store(moment_ptr + at, moment, mask=known)
    tl.store(logit_ptr + i, logit, mask=known & (target >= begin) & (target < end))


@triton.jit
def merge_kernel(
    top_ptr,  # [S, T] float32
    total_ptr,  # [S, T] float32
    moment_ptr,  # [S, T] float32
    sums_ptr,  # [3, T] float32, out: top, total and moment
    tokens,  # T
    splits,  # S
    moments: tl.constexpr,
    block_t: tl.constexpr,
):
    """Merge the splits of each token, in order."""
    i = tl.program_id(0) * block_t + tl.arange(0, block_t)
    known = i < tokens
    top = tl.full((block_t,), LOWEST, tl.float32)
    total = tl.zeros((block_t,), tl.float32)
    moment = tl.zeros((block_t,), tl.float32)
    at = i.to(tl.int64)
    for _ in range(splits):
        next_top = tl.load(top_ptr + at, mask=known, other=0.0)
        next_total = tl.load(total_ptr + at, mask=known, other=0.0)
        new = tl.maximum(top, next_top)
        fall, next_fall = top - new, next_top - new
        scale, next_scale = tl.exp2(fall * LOG2E), tl.exp2(next_fall * LOG2E)
        if moments:
            next_moment = tl.load(moment_ptr + at, mask=known, other=0.0)
            moment = scale * (moment + tl.where(fall < FAR, FAR, fall) * total)
            moment += next_scale * (next_moment + tl.where(next_fall < FAR, FAR, next_fall) * next_total)
        total = scale * total + next_scale * next_total
        top = new
        at += tokens
    tl.store(sums_ptr + i, top, mask=known)
    tl.store(sums_ptr + tokens + i, total, mask=known)
    tl.store(sums_ptr + 2 * tokens + i, moment, mask=known)


def sums(
    hidden: Tensor,  # [T, d]
    weight: Tensor,  # [V, d]
    targets: Tensor,  # [T] int64
    bias: Tensor | None,  # [V]
    softcap: float | None,
    moments: bool,
) -> tuple[Sums, Tensor]:
    """Return the same as `Tiles.sums`, and the targets' logits [T]."""
    tokens, d = hidden.shape
    words, device = len(weight), hidden.device
    merged, logit = torch.empty(3, tokens, device=device), torch.empty(tokens, device=device)
    if tokens == 0:
        return Sums(*merged), logit
    if device.type == "cpu" and hidden.dtype == torch.bfloat16:  # Triton's interpreter multiplies none
        hidden, weight = hidden.float(), weight.float()
    hidden = hidden if hidden.stride(1) == 1 else hidden.contiguous()
    weight = weight if weight.stride(1) == 1 else weight.contiguous()
    capability, processors = (8, 0), 3
    if device.type == "cuda":
        capability = torch.cuda.get_device_capability(device)
        processors = torch.cuda.get_device_properties(device).multi_processor_count
    block_t, block_v, block_d, warps = blocks(tokens, hidden.element_size(), capability)
    tiles = triton.cdiv(tokens, block_t)
    share, splits = shares(tiles, triton.cdiv(words, block_v), processors)
    partial = torch.empty(3 if moments else 2, splits, tokens, device=device)
    on_device = torch.cuda.device_of(hidden) if device.type == "cuda" else nullcontext()
    with on_device:
        partial_kernel[(tiles, splits)](
            hidden,
            weight,
            hidden if bias is None else bias.float().contiguous(),
            targets,
            partial[0],
            partial[1],
            partial[-1],
            logit,
            tokens,
            words,
            d,
            hidden.stride(0),
            weight.stride(0),
            share * block_v,
            0.0 if softcap is None else softcap,
            biased=bias is not None,
            softcapped=softcap is not None,
            moments=moments,
            block_t=block_t,
            block_v=block_v,
            block_d=block_d,
            num_warps=warps,
            num_stages=3,
        )
        merge_kernel[(triton.cdiv(tokens, 128),)](
            partial[0], partial[1], partial[-1], merged, tokens, splits, moments=moments, block_t=128
        )
    return Sums(*merged), logit


def blocks(tokens: int, bytes_each: int, capability: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the tokens, words and dimensions of a tile, and the number of warps, such that three stages of operands
    fit in shared memory.
    """
    block_t = min(128, max(16, triton.next_power_of_2(tokens)))
    wide = block_t == 128 and capability[0] == 9
    return block_t, 256 if wide else 128, 128 // bytes_each, 8 if block_t == 128 else 4


@functools.lru_cache(maxsize=256)
def shares(tiles: int, blocks: int, processors: int) -> tuple[int, int]:
    """Return the number of blocks in a split, and the number of splits, such that the last program ends as early as
    possible.

    The last program ends after ceil(programs / processors) rounds of one split each.
    """
    most = min(blocks, max(1, 4 * processors // tiles))
    turns = {s: triton.cdiv(tiles * s, processors) * triton.cdiv(blocks, s) for s in range(1, most + 1)}
    share = triton.cdiv(blocks, min(turns, key=turns.__getitem__))
    return share, triton.cdiv(blocks, share)
