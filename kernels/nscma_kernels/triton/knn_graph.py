"""Find candidates for `knn_graph` on a GPU. Scores are never written to memory, only the maxima of column groups.

One kernel makes two passes over tiles of scores. The first pass keeps the largest score of every `GROUP` columns. The
k-th largest of these is a lower bound on a row's k-th best score. The second pass recomputes the tiles in which some
maximum reaches the bound, and writes the columns that reach it. The order in which tiles write is undefined, so the
pairs are a set. Exact scoring and the choice follow in `nscma_kernels.knn_graph`, which gives the same result as plain
torch.

Legend: m choosing rows, n columns, d dimension; a tile is BM rows by BN columns.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,type-arg"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from nscma_kernels.knn_graph import Pairs, Scores, crowd

GROUP = 32  # columns of one maximum
BM, BN, BK = 128, 128, 64
MAXIMA = 2**26  # held at a time


@triton.jit
def tile_kernel(
    left_ptr,  # [m, d] bfloat16, alpha times normalised choosing rows
    right_ptr,  # [n, d] bfloat16, normalised rows
    row_ptr,  # [m] int64, the column that is the row itself
    first_ptr,  # [m] int64, first column of the row's graph
    last_ptr,  # [m] int64, one after its last
    place_ptr,  # [n] int64, place on the line
    low_ptr,  # [tiles] int64, smallest place among a tile's columns
    high_ptr,  # [tiles] int64, largest
    best_ptr,  # [m, groups] float32: written by the first pass, read by the second
    threshold_ptr,  # [m] float32
    count_ptr,  # [m] int32, columns above the threshold
    col_ptr,  # [m, limit] int32, these columns, in any order
    m,
    n,
    d,
    groups,
    limit,
    width,  # of the band, in places
    weight,  # 1 - alpha
    scale,  # 1 / (2 sigma^2)
    band: tl.constexpr,
    emit: tl.constexpr,  # False in the first pass
    block_m: tl.constexpr,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
    group: tl.constexpr,
):
    """Compute one tile of s = alpha cos + (1 - alpha) exp(-(p_i - p_j)^2 / (2 sigma^2)), with -inf where no edge is
    allowed.
    """
    # eight blocks of rows share a tile of columns while it is in the L2 cache
    pid, tiles_m, tiles_n = tl.program_id(0), tl.cdiv(m, block_m), tl.cdiv(n, block_n)
    bundle = pid // (8 * tiles_n)
    height = tl.minimum(tiles_m - bundle * 8, 8)
    tile_m, tile_n = bundle * 8 + pid % (8 * tiles_n) % height, pid % (8 * tiles_n) // height

    i = tile_m * block_m + tl.arange(0, block_m)
    j = tile_n * block_n + tl.arange(0, block_n)
    row = tl.load(row_ptr + i, mask=i < m, other=-1)
    first = tl.load(first_ptr + i, mask=i < m, other=n)
    last = tl.load(last_ptr + i, mask=i < m, other=0)
    wanted = (tl.min(first) < (tile_n + 1) * block_n) & (tl.max(last) > tile_n * block_n)
    per_tile: tl.constexpr = block_n // group
    g = tile_n * per_tile + tl.arange(0, per_tile)
    best_at = best_ptr + i[:, None].to(tl.int64) * groups + g[None, :]
    inside = (i < m)[:, None] & (g < groups)[None, :]
    if emit:
        threshold = tl.load(threshold_ptr + i, mask=i < m, other=float("inf"))
        best = tl.load(best_at, mask=inside, other=-float("inf"))
        wanted = wanted & (tl.max((best > threshold[:, None]).to(tl.int32)) > 0)
    if wanted:
        product = tl.zeros((block_m, block_n), dtype=tl.float32)
        for start in range(0, d, block_k):
            c = start + tl.arange(0, block_k)
            left = tl.load(
                left_ptr + i[:, None].to(tl.int64) * d + c[None, :], mask=(i < m)[:, None] & (c < d)[None, :], other=0.0
            )
            right = tl.load(
                right_ptr + j[None, :].to(tl.int64) * d + c[:, None],
                mask=(j < n)[None, :] & (c < d)[:, None],
                other=0.0,
            )
            product = tl.dot(left, right, product)
        if band:
            here = tl.load(place_ptr + row, mask=i < m, other=0)
            near = tl.load(low_ptr + tile_n) - width <= tl.max(tl.where(i < m, here, -(2**62)))
            near = near & (tl.load(high_ptr + tile_n) + width >= tl.min(tl.where(i < m, here, 2**62)))
            if near:
                there = tl.load(place_ptr + j, mask=j < n, other=0)
                apart = tl.abs(here[:, None] - there[None, :])
                far = apart.to(tl.float32)
                product += tl.where(apart <= width, weight * tl.exp(-(far * far) * scale), 0.0)
        may = (j[None, :] >= first[:, None]) & (j[None, :] < last[:, None]) & (j[None, :] != row[:, None])
        s = tl.where(may, product, -float("inf"))
        if emit:
            hit = (s > threshold[:, None]).to(tl.int32)
            mine = tl.sum(hit, axis=1)
            base = tl.atomic_add(count_ptr + i, mine, mask=(i < m) & (mine > 0))
            slot = base[:, None] + tl.cumsum(hit, axis=1) - 1
            tl.store(
                col_ptr + i[:, None].to(tl.int64) * limit + slot,
                tl.broadcast_to(j[None, :], (block_m, block_n)),
                mask=(hit > 0) & (slot < limit),
            )
        else:
            tl.store(best_at, tl.max(tl.reshape(s, (block_m, per_tile, group)), axis=2), mask=inside)


def candidates(scores: Scores, choosers: Tensor, k: int, gamma: float) -> tuple[Pairs, Tensor]:
    """Return pairs that include the k best of every chooser, and the choosers that have too many candidates."""
    n, d = scores.x.shape
    # Triton's interpreter on a CPU multiplies no bfloat16
    held_in = torch.bfloat16 if choosers.is_cuda else torch.float32
    right = scores.unit[:n].bfloat16().to(held_in)
    tiles, groups, limit = triton.cdiv(n, BN), triton.cdiv(n, GROUP), crowd(k)
    nothing = torch.zeros(1, dtype=torch.int64, device=right.device)
    place = low = high = nothing
    if scores.band is not None:
        place = scores.band.place
        tiled = torch.cat([place, place[-1:].expand(tiles * BN - n)]).view(tiles, BN)
        low, high = tiled.amin(1), tiled.amax(1)
    found, rest = [(choosers[:0], choosers[:0])], [choosers[:0]]
    for rows in torch.split(choosers, max(1, MAXIMA // max(1, groups))):
        m = len(rows)
        if m == 0:
            continue
        left, error = scores.left(rows, torch.bfloat16)
        best = torch.full((m, groups), -torch.inf, device=right.device)
        threshold = best.new_empty(m)
        count = torch.zeros(m, dtype=torch.int32, device=right.device)
        col = torch.empty(m, limit, dtype=torch.int32, device=right.device)
        for emit in (False, True):
            if emit:
                kth = best.topk(k).values[:, -1] if k <= groups else best.new_full((m,), -torch.inf)
                threshold = scores.threshold(kth, error, torch.bfloat16, gamma)
            with torch.cuda.device_of(right):
                tile_kernel[(triton.cdiv(m, BM) * tiles,)](
                    left.to(held_in),
                    right,
                    rows,
                    scores.first[rows],
                    scores.last[rows],
                    place,
                    low,
                    high,
                    best,
                    threshold,
                    count,
                    col,
                    m,
                    n,
                    d,
                    groups,
                    limit,
                    -1 if scores.band is None else scores.band.width,
                    1 - scores.alpha,
                    1 / (2 * scores.sigma**2),
                    band=scores.band is not None,
                    emit=emit,
                    block_m=BM,
                    block_n=BN,
                    block_k=BK,
                    group=GROUP,
                    num_warps=8,
                    num_stages=3,
                )
        crowded = count > limit
        held = torch.arange(limit, device=count.device) < count.masked_fill(crowded, 0)[:, None]
        found.append((rows[held.nonzero()[:, 0]], col[held].long()))
        rest.append(rows[crowded])
    row, column = (torch.cat(part) for part in zip(*found, strict=True))
    return (row, column), torch.cat(rest)
