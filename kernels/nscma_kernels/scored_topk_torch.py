"""The search of `scored_topk` in plain torch: approximate scores for all rows, stripe by stripe, and exact scores for a
few.

Legend: Q queries, N rows, D dimension, C columns, m places. A stripe has T rows; its row r is in group r modulo G.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from nscma_kernels.precision import native_dtype
from nscma_kernels.scored_topk_scores import LARGE, Operands, Pairs, cached_rows, choose, largest_of

STRIPE = 2**22  # near scores held at a time
FEWEST, MOST = 2**12, 2**18  # rows of a stripe
MANY = 48  # number of queries from which a stripe is copied into the fastest dtype, with columns and filter
GROUP = 128  # rows of a group at most
SPARSE = 2  # if less than 1 / SPARSE of a stripe passes, only those rows are multiplied
PAIRS = 2**22  # pairs held at a time


class Stripe(NamedTuple):
    """Rows in ascending order: all rows in `begin:end`, or some of them."""

    begin: int
    end: int
    rows: Tensor | None  # [T] int64
    passing: Tensor | None  # [T] bool

    def of(self, tensor: Tensor) -> Tensor:
        """Return the stripe's part of a tensor [N, ...]."""
        return tensor[self.begin : self.end] if self.rows is None else tensor[self.rows]

    @property
    def height(self) -> int:
        """Return T, the number of rows."""
        return self.end - self.begin if self.rows is None else len(self.rows)


class Workspace:
    """Memory that is reused from stripe to stripe, because fresh pages cost as much as a product that fills them."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._held: dict[tuple[str, torch.dtype], Tensor] = {}

    def take(self, name: str, rows: int, columns: int, dtype: torch.dtype) -> Tensor:
        """Return an uninitialised tensor, which replaces the tensor previously taken with this name and dtype."""
        held = self._held.get((name, dtype))
        if held is None or held.numel() < rows * columns:
            held = self._held[name, dtype] = torch.empty(rows * columns, dtype=dtype, device=self._device)
        return held[: rows * columns].view(rows, columns)


def search_in_stripes(operands: Operands, m: int, scores: Tensor, index: Tensor) -> None:
    """Fill `scores` and `index` [Q, m], for at most `BLOCK` queries, stripe by stripe."""
    least = operands.queries.new_full((len(scores), m), -torch.inf, dtype=torch.float64)  # bounds on the m best
    found: list[Pairs] = []
    space, ladder = Workspace(scores.device), _ladder(operands)
    for stripe in _stripes(operands):
        if sum(len(pairs.row) for pairs in found) > PAIRS:
            pairs = _joined(found, least)
            order = choose(operands, pairs, m, scores, index)
            found = [Pairs(*(part[order] for part in pairs))]
        which, part = None, operands
        for dtype in ladder:
            pairs, crowded = _look(
                part, stripe, which, least, dtype, None if dtype == ladder[-1] else 4 * m + 64, space
            )
            found.append(pairs)
            if crowded is None:
                break
            which, part = crowded, operands.some(crowded)
    if found:
        choose(operands, _joined(found, least), m, scores, index)


def _ladder(operands: Operands) -> list[torch.dtype]:
    """Return the dtypes in which to multiply a stripe. Each further dtype is for queries with too many rows within the
    error.
    """
    if operands.dtype == torch.float64:
        return [torch.float64]
    if operands.vectors.dtype == torch.bfloat16 or len(operands.queries) >= MANY:
        native = native_dtype("cpu") if operands.vectors.device.type == "cpu" else torch.float32
        return list(dict.fromkeys([native, torch.float32]))
    return [torch.float32]


def _stripes(operands: Operands) -> Iterator[Stripe]:
    """Yield stripes with all rows, except stripes in which no row passes."""
    n = len(operands.vectors)
    step = min(max(STRIPE // len(operands.queries), FEWEST), MOST)
    for begin in range(0, n, step):
        end = min(n, begin + step)
        rows, passing = None, operands.rows.passing(begin, end)
        if passing is not None:
            count = int(passing.count_nonzero())
            if count == 0:
                continue
            if count * SPARSE < end - begin:
                rows = passing.nonzero()[:, 0] + begin
            if rows is not None or count == end - begin:
                passing = None
        yield Stripe(begin, end, rows, passing)


def _look(
    operands: Operands,
    stripe: Stripe,
    which: Tensor | None,  # [Q] int64, numbers of the operands' queries, None for all
    least: Tensor,  # [BLOCK, m], brought up to date
    dtype: torch.dtype,
    limit: int | None,
    space: Workspace,
) -> tuple[Pairs, Tensor | None]:
    """Return the pairs in the stripe that may be among the m best, and the queries for which the pairs would exceed the
    limit.
    """
    columns = stripe.of(operands.columns)
    largest = largest_of(columns)
    if operands.largest(largest) > LARGE:
        dtype = torch.float64
    q, m, count = len(operands.queries), least.shape[1], stripe.height
    fold = 2 ** int(math.log2(max(1, min(GROUP, count // (6 * m)))))
    groups = -(-count // fold)
    near = _product(operands, stripe, columns, dtype, groups * fold, space)
    error = operands.error(largest, dtype)
    slack = 2.0**-50 if operands.dtype == torch.float64 else 2.0**-21  # near scores and scores are rounded
    if dtype == torch.bfloat16:
        slack += 2.0**-8.9  # the product by half a unit
        error += operands.weight * largest * 2.0**-8
    best = near.view(min(fold, 16), -1, q).amax(0).view(-1, groups, q).amax(0)  # in two steps, for the cache
    sure = best.T.topk(min(m, groups)).values.double()
    sure = sure.sub(sure.abs(), alpha=slack).sub_(error)
    bound = torch.cat([least if which is None else least[which], sure], dim=1).topk(m).values
    cut = (bound[:, -1] - error).clamp_(min=-(LARGE**2) if dtype != torch.float64 else torch.finfo(dtype).min / 2)
    cut = cut.sub_(cut.abs(), alpha=2 * slack).to(near.dtype)
    hit, crowded = best >= cut, None
    if limit is not None:
        crowded = hit.sum(0) > limit
        hit &= ~crowded
    group, query = hit.nonzero(as_tuple=True)
    cells = near.view(fold, groups, q)[:, group, query]
    hit = cells >= cut[query]
    if crowded is not None and limit is not None:
        crowded |= hit.new_zeros(q, dtype=torch.int64).index_add_(0, query, hit.sum(0)) > limit
        hit &= ~crowded[query]
    place, pair = hit.nonzero(as_tuple=True)
    row, query, most = place * groups + group[pair], query[pair], cells[place, pair].double()
    row = row + stripe.begin if stripe.rows is None else stripe.rows[row]
    most = most.add(most.abs(), alpha=slack).add_(error)
    if crowded is None or not bool(crowded.any()):
        least[slice(None) if which is None else which] = bound
        return Pairs(query if which is None else which[query], row, most), None
    which = torch.arange(q, device=row.device) if which is None else which
    least[which[~crowded]] = bound[~crowded]
    return Pairs(which[query], row, most), which[crowded]


def _product(
    operands: Operands,
    stripe: Stripe,
    columns: Tensor,  # [T, C]
    dtype: torch.dtype,
    height: int,  # rows of the result, at least T
    space: Workspace,
) -> Tensor:
    """Return approximate scores [height, Q] from operands in `dtype`, with -inf for rows that don't pass or don't
    exist.
    """
    (q, d), t = operands.queries.shape, stripe.height
    held = torch.float64 if dtype == torch.float64 else torch.float32
    columns, weights = columns.to(held), operands.weights.to(held)
    # 0 for rows that pass, else -inf: several times faster than to choose between two values
    barrier = None if stripe.passing is None else torch.rsub(stripe.passing.reciprocal(), 1)
    if dtype == torch.bfloat16 and q >= MANY:  # all in one product, columns and weights in two parts each
        first, second = columns.to(dtype), weights.to(dtype)
        right = [first, first, columns - first]
        left = [operands.queries, second, weights - second, second]
        if barrier is not None:
            right.append(barrier[:, None])
            left.append(weights.new_ones(1, 1))
        width = -(-(d + sum(part.shape[1] for part in right)) // 32) * 32
        beside = space.take("right", t, width, dtype)
        for part, vectors in _tiles(operands.vectors, stripe, operands.vectors.dtype, space):
            beside[part, :d] = vectors
        _side_by_side(right, beside[:, d:])
        near = space.take("near", height, q, dtype)
        torch.mm(beside, _side_by_side(left, space.take("left", q, width, dtype)).T, out=near[:t])
    else:
        near = space.take("near", height, q, held)
        beside = columns @ weights.T if columns.shape[1] else columns.new_zeros(1, 1).expand(t, 1)
        if barrier is not None:
            beside = beside + barrier[:, None]
        turned = operands.queries.to(dtype).T
        for part, vectors in _tiles(operands.vectors, stripe, dtype, space):
            if dtype == torch.bfloat16:
                product = (vectors @ turned.expand(-1, max(2, q)))[:, :q]  # one column alone is slower
                torch.add(beside[part], product, out=near[part])
            elif q == 1:
                torch.addmv(beside[part, 0], vectors, turned[:, 0], out=near[part, 0])
            else:
                torch.addmm(beside[part], vectors, turned, out=near[part])
    near[t:] = -torch.inf
    return near


def _tiles(vectors: Tensor, stripe: Stripe, dtype: torch.dtype, space: Workspace) -> Iterator[tuple[slice, Tensor]]:
    """Yield the stripe's vectors in `dtype`: all at once or, if they must be converted, in parts that stay in the
    cache.
    """
    t, d = stripe.height, vectors.shape[1]
    size = t if stripe.rows is None and vectors.dtype == dtype else cached_rows(vectors)
    for begin in range(0, t, size):
        part = slice(begin, min(t, begin + size))
        if stripe.rows is None:
            tile = vectors[stripe.begin + part.start : stripe.begin + part.stop]
        else:
            tile = space.take("gathered", part.stop - begin, d, vectors.dtype)
            torch.index_select(vectors, 0, stripe.rows[part], out=tile)
        yield part, tile.to(dtype)


def _side_by_side(parts: list[Tensor], out: Tensor) -> Tensor:
    """Write the columns of all parts side by side into `out`, followed by zeros."""
    begin = 0
    for part in parts:
        out[:, begin : begin + part.shape[1]] = part
        begin += part.shape[1]
    out[:, begin:] = 0
    return out


def _joined(found: list[Pairs], least: Tensor) -> Pairs:
    """Concatenate pairs, keeping only pairs that reach the current bounds."""
    if len(found) == 1:
        return found[0]
    query, row, most = (torch.cat(part) for part in zip(*found, strict=True))
    kept = (most >= least[query, -1]).nonzero()[:, 0]
    return Pairs(query[kept], row[kept], most[kept])
