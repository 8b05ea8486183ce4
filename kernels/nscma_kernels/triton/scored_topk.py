"""`scored_topk` on a GPU. Approximate scores are never written to memory, only the maxima of row groups.

The first pass computes tiles of approximate scores, including columns and filters, and keeps the largest score of every
`GROUP` rows. The second pass recomputes the rows in each query's best groups in float64. Each of the top k items is in
a group with a maximum that, plus the error, reaches the k-th best score; the pass continues until no such group is
left.

Legend: Q queries, N rows, D dimension, C columns, R keys, G groups, L groups processed at a time for a query.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,type-arg"
from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from nscma_kernels.row_filter import HIGHEST, LOWEST
from nscma_kernels.scored_topk_scores import LARGE, Operands, largest_of
from nscma_kernels.scored_topk_torch import search_in_stripes

GROUP = 64  # rows of one maximum
BN = 128
MAXIMA = 2**26  # held at a time
AHEAD = 16  # groups that are taken beyond k at first


@triton.jit
def passing(
    j,  # [block] rows
    n,
    mask_ptr,  # [N] bool
    flags_ptr,  # [N] int64
    any_of,
    keys_ptr,  # [N, R] int64
    key_row,  # strides
    key_column,
    low_ptr,  # [R] int64
    high_ptr,  # [R] int64
    r,
    masked: tl.constexpr,
    flagged: tl.constexpr,
):
    """Return the mask of rows that exist and pass every filter."""
    passes = j < n
    if masked:
        passes = passes & (tl.load(mask_ptr + j, mask=passes, other=0) != 0)
    if flagged:
        passes = passes & ((tl.load(flags_ptr + j, mask=passes, other=0) & any_of) != 0)
    for key in range(r):
        value = tl.load(keys_ptr + j * key_row + key * key_column, mask=passes, other=0)
        passes = passes & (value >= tl.load(low_ptr + key)) & (value <= tl.load(high_ptr + key))
    return passes


@triton.jit
def maxima_kernel(
    query_ptr,  # [Q, D] of the vectors' dtype
    vector_ptr,  # [N, D]
    column_ptr,  # [N, C] float32
    weight_ptr,  # [Q, C] float32
    mask_ptr,
    flags_ptr,
    any_of,
    keys_ptr,
    key_row,
    key_column,
    low_ptr,
    high_ptr,
    best_ptr,  # [Q, G] float32
    q,
    n,
    d,
    c,
    r,
    groups,
    masked: tl.constexpr,
    flagged: tl.constexpr,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
    group: tl.constexpr,
):
    """Compute the largest approximate score in each group, or -inf if no row passes."""
    tiles_m = tl.cdiv(q, block_m)  # blocks of queries share a tile of rows in the cache
    tile_m, tile_n = tl.program_id(0) % tiles_m, tl.program_id(0) // tiles_m
    i = tile_m * block_m + tl.arange(0, block_m)
    j = tile_n.to(tl.int64) * block_n + tl.arange(0, block_n)
    passes = passing(
        j, n, mask_ptr, flags_ptr, any_of, keys_ptr, key_row, key_column, low_ptr, high_ptr, r, masked, flagged
    )
    per_tile: tl.constexpr = block_n // group
    g = tile_n * per_tile + tl.arange(0, per_tile)
    best_at = best_ptr + i[:, None].to(tl.int64) * groups + g[None, :]
    inside = (i < q)[:, None] & (g < groups)[None, :]
    if tl.max(passes.to(tl.int32)) > 0:
        score = tl.zeros((block_m, block_n), dtype=tl.float32)
        for start in range(0, d, block_k):
            e = start + tl.arange(0, block_k)
            left = tl.load(query_ptr + i[:, None] * d + e[None, :], mask=(i < q)[:, None] & (e < d)[None, :], other=0.0)
            right = tl.load(
                vector_ptr + j[None, :] * d + e[:, None], mask=(j < n)[None, :] & (e < d)[:, None], other=0.0
            )
            score = tl.dot(left, right, score, input_precision="ieee")
        for column in range(c):
            weight = tl.load(weight_ptr + i * c + column, mask=i < q, other=0.0)
            score += weight[:, None] * tl.load(column_ptr + j * c + column, mask=j < n, other=0.0)[None, :]
        score = tl.where(passes[None, :], score, -float("inf"))
        tl.store(best_at, tl.max(tl.reshape(score, (block_m, per_tile, group)), axis=2), mask=inside)
    else:
        tl.store(best_at, tl.full((block_m, per_tile), -float("inf"), dtype=tl.float32), mask=inside)


@triton.jit
def rescore_kernel(
    query_ptr,  # [Q, D] float32
    vector_ptr,  # [N, D]
    column_ptr,
    weight_ptr,
    mask_ptr,
    flags_ptr,
    any_of,
    keys_ptr,
    key_row,
    key_column,
    low_ptr,
    high_ptr,
    group_ptr,  # [Q, L] int64
    score_ptr,  # [Q, L, group] float32
    n,
    d,
    c,
    r,
    taken,  # L
    masked: tl.constexpr,
    flagged: tl.constexpr,
    block_k: tl.constexpr,
    group: tl.constexpr,
):
    """Compute the scores of one group's rows for one query, summed in float64. Rows that don't pass get -inf."""
    i, slot = tl.program_id(0).to(tl.int64), tl.program_id(1)
    j = tl.load(group_ptr + i * taken + slot) * group + tl.arange(0, group)
    passes = passing(
        j, n, mask_ptr, flags_ptr, any_of, keys_ptr, key_row, key_column, low_ptr, high_ptr, r, masked, flagged
    )
    score = tl.zeros((group,), dtype=tl.float64)
    for start in range(0, d, block_k):
        e = start + tl.arange(0, block_k)
        left = tl.load(query_ptr + i * d + e, mask=e < d, other=0.0).to(tl.float64)
        right = tl.load(vector_ptr + j[:, None] * d + e[None, :], mask=passes[:, None] & (e < d)[None, :], other=0.0)
        score += tl.sum(right.to(tl.float64) * left[None, :], axis=1)
    for column in range(c):
        weight = tl.load(weight_ptr + i * c + column).to(tl.float64)
        score += weight * tl.load(column_ptr + j * c + column, mask=passes, other=0.0).to(tl.float64)
    at = score_ptr + (i * taken + slot) * group + tl.arange(0, group)
    tl.store(at, tl.where(passes, score.to(tl.float32), -float("inf")))


def search(operands: Operands, m: int, scores: Tensor, index: Tensor) -> None:
    """Fill `scores` and `index` [Q, m]."""
    n = len(operands.vectors)
    largest = largest_of(operands.columns)
    if operands.largest(largest) > LARGE:
        return search_in_stripes(operands, m, scores, index)
    error = operands.error(largest, operands.vectors.dtype)
    most = max(1, MAXIMA // triton.cdiv(n, GROUP))
    for begin in range(0, len(scores), most):
        part = slice(begin, begin + most)
        _search(operands.some(part), m, error, scores[part], index[part])
    return None


def _search(operands: Operands, m: int, error: float, scores: Tensor, index: Tensor) -> None:
    (q, d), (n, c) = operands.queries.shape, operands.columns.shape
    device = scores.device
    # Triton's interpreter on a CPU multiplies no bfloat16
    vectors = (operands.vectors if device.type == "cuda" else operands.vectors.float()).contiguous()
    queries = operands.queries.contiguous()
    columns = operands.columns.float().contiguous()
    weights = operands.weights.expand(q, c).contiguous()
    rows, filters = _filters(operands)
    groups = triton.cdiv(n, GROUP)
    best = torch.empty(q, groups, device=device)
    half = vectors.dtype == torch.bfloat16
    block_m = 16 if q <= 16 else 64 if q <= 64 else 128
    with torch.cuda.device_of(vectors):
        maxima_kernel[(triton.cdiv(q, block_m) * triton.cdiv(n, BN),)](
            queries.to(vectors.dtype),
            vectors,
            columns,
            weights,
            *rows,
            best,
            q,
            n,
            d,
            c,
            filters["r"],
            groups,
            masked=filters["masked"],
            flagged=filters["flagged"],
            block_m=block_m,
            block_n=BN,
            block_k=64 if half else 32,
            group=GROUP,
            num_warps=4 if block_m == 16 else 8,
            num_stages=3,
        )
    scores.fill_(-torch.inf)
    taken = m + AHEAD
    while True:
        highest, chosen = best.topk(min(taken, groups))
        found = torch.empty(q, chosen.shape[1], GROUP, device=device)
        with torch.cuda.device_of(vectors):
            rescore_kernel[(q, chosen.shape[1])](
                queries,
                vectors,
                columns,
                weights,
                *rows,
                chosen,
                found,
                n,
                d,
                c,
                filters["r"],
                chosen.shape[1],
                masked=filters["masked"],
                flagged=filters["flagged"],
                block_k=64,
                group=GROUP,
            )
        found.masked_fill_((highest == -torch.inf)[:, :, None], -torch.inf)  # also of groups that were taken before
        row = chosen[:, :, None] * GROUP + torch.arange(GROUP, device=device)
        _merge(scores, index, found.view(q, -1), row.view(q, -1))
        best.scatter_(1, chosen, -torch.inf)
        left = best.amax(1)
        reach = left + 2.0**-21 * left.abs() + error
        if not bool(((reach >= scores[:, -1]) & (left > -torch.inf)).any()):
            break
        taken *= 2
    index.masked_fill_(scores == -torch.inf, -1)


def _merge(scores: Tensor, index: Tensor, found: Tensor, row: Tensor) -> None:
    """Keep the best [Q, m] of the existing scores and the new scores [Q, P]. Ties go to the smaller row."""
    row, order = torch.cat([index, row], dim=1).sort(dim=1)
    found, by_score = torch.cat([scores, found], dim=1).gather(1, order).sort(dim=1, descending=True, stable=True)
    m = scores.shape[1]
    scores.copy_(found[:, :m])
    index.copy_(row.gather(1, by_score)[:, :m])


def _filters(operands: Operands) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the kernels' arguments for filters: tensors and numbers in order, and keyword arguments."""
    rows, device = operands.rows, operands.vectors.device
    keys, r = rows.keys, 0 if rows.keys is None or (rows.low is None and rows.high is None) else rows.keys.shape[1]
    nothing = torch.zeros(1, dtype=torch.int64, device=device)
    low = torch.tensor([LOWEST] * r if rows.low is None else list(rows.low), dtype=torch.int64, device=device)
    high = torch.tensor([HIGHEST] * r if rows.high is None else list(rows.high), dtype=torch.int64, device=device)
    arguments = (
        nothing if rows.mask is None else rows.mask.contiguous().view(torch.uint8),
        nothing if rows.flags is None else rows.flags.contiguous(),
        rows.any_of or 0,
        nothing if keys is None or r == 0 else keys,
        0 if keys is None else keys.stride(0),
        0 if keys is None else keys.stride(1),
        low if r else nothing,
        high if r else nothing,
    )
    return arguments, {"r": r, "masked": rows.mask is not None, "flagged": rows.flags is not None}
