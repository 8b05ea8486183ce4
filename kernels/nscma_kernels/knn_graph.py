"""Build the nearest-neighbour graph for a memory's base level, by meaning and by position.

CAM (2025), eq. 2: s(i, j) = alpha cos(x_i, x_j) + (1 - alpha) exp(-(p_i - p_j)^2 / (2 sigma^2)). Deviation: here the
second term applies only within one stream, and is exactly 0 below `EPSILON`.

Method: a matrix product in the fastest dtype, with bounded error, finds candidates, and only these are scored exactly.
Rows with too many candidates use a product in float32. If they still have too many (for example, with many duplicates),
all their columns are scored exactly.

Legend: n rows, d dimension, m choosing rows, E half-edges. Rows are laid out graph by graph. A stripe contains the
scores of some choosing rows against the columns `begin:end` of their graphs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from nscma_kernels.implementation import Impl, on_triton
from nscma_kernels.precision import native_dtype

EPSILON = 2.0**-24  # a positional term below half a unit in the last place of 1 is 0
STRIPE = 2**23  # elements of a stripe that stays near the cache
PAIRS = 2**21  # pairs held at a time
WORTHWHILE = 2**30  # multiplications from which a conversion to bfloat16 pays

Pairs = tuple[Tensor, Tensor]  # rows and columns, both [P] int64


def knn_graph(
    x: Tensor,  # [n, d]
    k: int,
    *,
    gamma: float = 0.0,
    alpha: float = 1.0,
    sigma: float = 1.0,
    position: Tensor | None = None,  # [n] integers
    stream: Tensor | None = None,  # [n] integers
    batch: Tensor | None = None,  # [n] integers
    start: int = 0,
    impl: Impl = "auto",
) -> tuple[Tensor, Tensor]:
    """Connect every row from `start` on to its k best other rows with s > gamma. An edge exists if either end chose it.

    Scores are computed in float64 and rounded to float32; ties go to the smaller index. So a score depends only on its
    two rows, and the choice is the same regardless of how rows are tiled, batched or added later. `x` is converted to
    float32 and normalised internally; the cosine of a row of zeros is 0. `sigma` is in positions. `position` is a row's
    position in its `stream`; both are required if alpha < 1. No edge joins different graphs of `batch`. With `start`,
    only the rows from there on choose, among all rows, so new rows can be added to an existing graph. On CUDA, and on a
    CPU that multiplies bfloat16 natively, products use bfloat16; the result is the same.

    Returns `edge_index` [2, E] int64, with both directions of each edge, ordered by (row, col), and `edge_weight` [E]
    float32, the scores. Needs memory for O(n (d + k)) numbers and one stripe. Raises `ValueError` if shapes, values or
    `impl` are invalid.
    """
    _check(x, k, gamma, alpha, sigma, start)
    places = {"position": position, "stream": stream, "batch": batch}
    for name, numbers in places.items():
        if numbers is not None and (numbers.shape != x.shape[:1] or numbers.is_floating_point()):
            raise ValueError(f"{name} must be [{len(x)}] of integers, got {[*numbers.shape]} {numbers.dtype}")
    if alpha < 1 and (position is None or stream is None):
        raise ValueError("alpha < 1 requires position and stream: pass both, or set alpha=1")
    order = torch.arange(len(x), device=x.device) if batch is None else batch.argsort(stable=True)
    choosers = (order >= start).nonzero()[:, 0]
    scores = Scores.of(x.detach(), order, alpha, sigma, places)
    found: list[Pairs] = []
    if on_triton(impl, x):
        from nscma_kernels.triton.knn_graph import candidates

        pairs, choosers = candidates(scores, choosers, k, gamma)
        found.append(pairs)
    elif x.device.type == "cpu" and len(choosers) * x.numel() >= WORTHWHILE and native_dtype("cpu") != torch.float32:
        pairs, choosers = near_candidates(scores, choosers, k, gamma, native_dtype("cpu"))
        found.append(pairs)
    pairs, choosers = near_candidates(scores, choosers, k, gamma, torch.float32)
    found += [pairs, _exhaustive(scores, choosers, k, gamma)]
    return _edges(scores, _joined(found), k, gamma, order)


class GraphStripe(NamedTuple):
    """Choosing rows, and the columns for all their graphs."""

    rows: Tensor  # [T] int64, ascending
    begin: int
    end: int


class Band(NamedTuple):
    """Positions on one line, on which rows from different streams or graphs are farther apart than `width`."""

    width: int
    place: Tensor  # [n] int64
    order: Tensor  # [n] int64, rows by place
    line: Tensor  # [n] int64, places in that order

    @staticmethod
    def of(position: Tensor, stream: Tensor, batch: Tensor | None, width: int) -> Band:
        """Place rows on a line. Differences up to `width` within a stream are preserved; larger ones may shrink, but
        not below `width`.
        """
        keys = [position, stream] if batch is None else [position, stream, batch]
        order = _lexical(keys)
        other = torch.zeros_like(order[1:], dtype=torch.bool)
        for key in keys[1:]:
            other |= key[order[1:]] != key[order[:-1]]
        gap = position[order].diff().clamp(max=width + 1).masked_fill(other, width + 1)
        line = torch.cat([gap.new_zeros(min(1, len(order))), gap.cumsum(0)])
        return Band(width, torch.empty_like(line).scatter_(0, order, line), order, line)

    def pairs(self, rows: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the pairs (position in `rows`, column) that are no farther apart than the width, without duplicates, in
        blocks.
        """
        lowest = torch.searchsorted(self.line, self.place[rows] - self.width)
        count = torch.searchsorted(self.line, self.place[rows] + self.width, right=True) - lowest
        until = count.cumsum(0)
        parts = torch.bincount(until // PAIRS).tolist() if len(rows) else []
        for part in torch.split(torch.arange(len(rows), device=rows.device), [size for size in parts if size]):
            local = part.repeat_interleave(count[part])
            first = (lowest[part] - until[part] + count[part]).repeat_interleave(count[part])
            first += torch.arange(len(local), device=rows.device) + (until[part[0]] - count[part[0]])
            yield local, self.order[first]


@dataclass(frozen=True)
class Scores:
    """Exact scores s for any two rows, and the operands of a matrix product that approximates them."""

    x: Tensor  # [n, d] float32
    norm: Tensor  # [n] float64, 1 for a row of zeros
    unit: Tensor  # [n + padding, d] float32, x normalised
    alpha: float
    sigma: float
    band: Band | None
    batch: Tensor | None  # [n] int64, ascending
    first: Tensor  # [n] int64, first column of a row's graph
    last: Tensor  # [n] int64, one after its last column

    @staticmethod
    def of(x: Tensor, order: Tensor, alpha: float, sigma: float, places: dict[str, Tensor | None]) -> Scores:
        """Lay out the rows in this order."""
        if places["batch"] is not None:
            x = x[order]
        x = x.float().contiguous()
        position, stream, batch = (None if numbers is None else numbers[order].long() for numbers in places.values())
        n, d = x.shape
        parts = torch.split(x, _cached(x))
        norm = torch.cat([torch.linalg.vector_norm(part, dim=1, dtype=torch.float64) for part in parts])
        if not bool(torch.isfinite(norm).all()):
            raise ValueError("x contains NaN or infinity in float32")
        norm += norm == 0
        unit = x.new_zeros(n + math.isqrt(n) + 1, d)
        torch.div(x, norm[:, None].float(), out=unit[:n])
        extreme = ((norm < 2.0**-100) | (norm > 2.0**100)).nonzero()[:, 0]  # beyond float32
        unit[extreme] = (x[extreme].double() / norm[extreme, None]).float()
        band = None
        if position is not None and stream is not None and 1 - alpha > EPSILON:
            width = int(sigma * math.sqrt(2 * math.log((1 - alpha) / EPSILON)))
            band = Band.of(position, stream, batch, width)
        first, last = torch.zeros_like(order), torch.full_like(order, n)
        if batch is not None:
            first, last = torch.searchsorted(batch, batch), torch.searchsorted(batch, batch, right=True)
        return Scores(x, norm, unit, alpha, sigma, band, batch, first, last)

    @cached_property
    def rounding(self) -> float:
        """Return the largest distance of a normalised row from its bfloat16 rounding."""
        return max(float(_rounding(part).max()) for part in torch.split(self.unit, _cached(self.unit)))

    def exact(self, row: Tensor, col: Tensor) -> Tensor:
        """Return s [P] float32 for these pairs."""
        parts = _cached(self.x)
        pairs = zip(torch.split(row, parts), torch.split(col, parts), strict=True)
        dots = [self.x[i].double().mul_(self.x[j]).sum(1) for i, j in pairs]
        s = self.alpha * (torch.cat(dots) / (self.norm[row] * self.norm[col]))
        return (s if self.band is None else s + self.positional(row, col)).float()

    def positional(self, row: Tensor, col: Tensor) -> Tensor:
        """Return the second term [P] float64 for these pairs. Requires a band."""
        assert self.band is not None
        apart = self.band.place[row] - self.band.place[col]
        term = (1 - self.alpha) * torch.exp(-(apart.double() ** 2) / (2 * self.sigma**2))
        inside: Tensor = apart.abs() <= self.band.width
        return torch.where(inside, term, 0)

    def left(self, rows: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return alpha times the normalised rows [T, d], and error bounds [T] float64 for their products with `unit`,
        compared with alpha cos.

        Sums are in float32. If the user's settings let float32 products round their operands, the bound assumes
        bfloat16, which rounds more than TF32.
        """
        left = self.alpha * self.unit[rows]
        error = torch.full_like(self.norm[rows], self.alpha * (self.x.shape[1] + 8) * 2.0**-22)
        if dtype == torch.bfloat16 or torch.get_float32_matmul_precision() != "highest":
            error += 1.02 * (_rounding(left) + self.alpha * self.rounding)
        if self.band is not None:
            error += (1 - self.alpha) * torch.finfo(dtype).eps  # the second term, rounded to the dtype
        return left.to(dtype), error.masked_fill((left == 0).all(dim=1), 0)  # zeros multiply exactly

    def threshold(self, kth: Tensor, error: Tensor, dtype: torch.dtype, gamma: float) -> Tensor:
        """Return the approximate score [T] in `dtype` that a candidate must exceed to be among the k best, given the
        k-th best [T].
        """
        slack = (0.53 if self.band is None else 1.05) * torch.finfo(dtype).eps  # rounded once, or twice

        def least(value: Tensor) -> Tensor:
            return value - error - slack * value.abs()

        best = least(least(kth.double())).float().nextafter(kth.new_tensor(-torch.inf))
        return torch.maximum(best, least(error.new_tensor(gamma)).float())

    def stripes(self, choosers: Tensor, fewest: int) -> Iterator[GraphStripe]:
        """Yield choosers in blocks of `STRIPE` elements, or at least `fewest` rows, and at most 1,024 rows.

        Rows from distant graphs don't share a block, because their columns hardly overlap.
        """
        at, first, last = 0, self.first[choosers].tolist(), self.last[choosers].tolist()
        while at < len(first):
            size = min(1024, len(first) - at)
            widest = max(4096, 2 * (last[at] - first[at]))
            while size > fewest and (last[at + size - 1] - first[at]) * size > STRIPE:
                size = max(fewest, size // 2)
            while size > 1 and last[at + size - 1] - first[at] > widest:
                size //= 2
            yield GraphStripe(choosers[at : at + size], first[at], last[at + size - 1])
            at += size


def near_candidates(scores: Scores, choosers: Tensor, k: int, gamma: float, dtype: torch.dtype) -> tuple[Pairs, Tensor]:
    """Return pairs that include the k best of every chooser, and the choosers that have too many candidates.

    Columns are grouped. The k-th largest group maximum is a lower bound on the k-th best score, and only groups with a
    maximum that reaches the bound are examined.
    """
    unit = scores.unit.to(dtype)
    buffer = unit.new_empty(0)
    found, rest = [(choosers[:0], choosers[:0])], [choosers[:0]]
    for rows, begin, end in scores.stripes(choosers, 128):
        size = 2 ** int(math.log2(max(1.0, math.sqrt((end - begin) / k))))
        groups = -(-(end - begin) // size)
        cells = len(rows) * size * groups
        if len(buffer) < cells:
            buffer = buffer.new_empty(cells)
        near = buffer[:cells].view(len(rows), -1)
        left, error = scores.left(rows, dtype)
        torch.mm(left, unit[begin : begin + size * groups].T, out=near)
        if scores.band is not None:
            for local, col in scores.band.pairs(rows):
                cell = local * (size * groups) + col - begin
                near.view(-1)[cell] += scores.positional(rows[local], col).to(dtype)
        _mask(scores, near, rows, begin, end)
        grouped = near.view(len(rows), size, groups)
        best = grouped.amax(1).float()
        kth = best.topk(k).values[:, -1] if k <= groups else best.new_full((len(rows),), -torch.inf)
        threshold = scores.threshold(kth, error, near.dtype, gamma)
        crowded = (best > threshold[:, None]).sum(1) > crowd(k)
        threshold[crowded] = torch.inf
        row, group = (best > threshold[:, None]).nonzero(as_tuple=True)
        hit = grouped[row, :, group] > threshold[row, None]
        crowded |= torch.zeros_like(rows).index_add_(0, row, hit.sum(1)) > crowd(k)
        pair, place = (hit & ~crowded[row, None]).nonzero(as_tuple=True)
        found.append((rows[row[pair]], begin + place * groups + group[pair]))
        rest.append(rows[crowded])
    return _joined(found), torch.cat(rest)


def crowd(k: int) -> int:
    """Return the maximum number of candidates that are scored individually. A row with more candidates is scored
    against all columns.
    """
    return 4 * k + 64


def _exhaustive(scores: Scores, choosers: Tensor, k: int, gamma: float) -> Pairs:
    """Return the k best pairs of each chooser, from exact scores for all columns."""
    found = [(choosers[:0], choosers[:0])]
    for rows, begin, end in scores.stripes(choosers, 16):
        left, norm = scores.x[rows].double(), scores.norm[rows, None]
        exact = scores.x.new_empty(len(rows), end - begin)
        for part in torch.split(torch.arange(begin, end, device=rows.device), max(1, PAIRS // max(1, left.shape[1]))):
            cosine = left @ scores.x[part].double().T / (norm * scores.norm[part])
            exact[:, part - begin] = (scores.alpha * cosine).float()
        if scores.band is not None:
            for local, col in scores.band.pairs(rows):
                exact[local, col - begin] = scores.exact(rows[local], col)
        _mask(scores, exact, rows, begin, end)
        kth = exact.topk(min(k, end - begin)).values[:, -1:]
        above, tied = exact > kth, exact == kth
        kept = (above | (tied & (tied.cumsum(1) <= k - above.sum(1, keepdim=True)))) & (exact > gamma)
        local, col = kept.nonzero(as_tuple=True)
        found.append((rows[local], col + begin))
    return _joined(found)


def _mask(scores: Scores, stripe: Tensor, rows: Tensor, begin: int, end: int) -> None:
    """Set scores to minus infinity where a row is paired with itself, another graph or padding."""
    stripe[:, end - begin :] = -torch.inf
    stripe[torch.arange(len(rows), device=rows.device), rows - begin] = -torch.inf
    if scores.batch is not None:
        graphs = scores.batch[begin:end]
        if bool(graphs[0] != graphs[-1]):
            stripe[:, : end - begin].masked_fill_(scores.batch[rows, None] != graphs, -torch.inf)


def _edges(scores: Scores, pairs: Pairs, k: int, gamma: float, order: Tensor) -> tuple[Tensor, Tensor]:
    """Return each row's k best pairs above gamma, in both directions, in the original row numbers."""
    row, col = pairs
    n = max(1, len(order))
    both, slot = torch.unique(torch.minimum(row, col) * n + torch.maximum(row, col), return_inverse=True)
    weight = scores.exact(both // n, both % n)
    s = weight[slot]
    best = _lexical([col, -s, row])
    best = best[s[best] > gamma]
    best = best[torch.arange(len(best), device=row.device) - torch.searchsorted(row[best], row[best]) < k]
    chosen = torch.zeros_like(weight, dtype=torch.bool).index_fill_(0, slot[best], True)
    weight, one, other = weight[chosen], order[both[chosen] // n], order[both[chosen] % n]
    keys, place = torch.cat([one * n + other, other * n + one]).sort()
    return torch.stack([keys // n, keys % n]), torch.cat([weight, weight])[place]


def _joined(found: list[Pairs]) -> Pairs:
    return torch.cat([row for row, _ in found]), torch.cat([col for _, col in found])


def _cached(x: Tensor) -> int:
    """Return the number of rows that fit in a CPU's cache in float64, or that fill a GPU."""
    return max(1, (2**17 if x.device.type == "cpu" else 2**26) // max(1, x.shape[1]))


def _rounding(unit: Tensor) -> Tensor:
    """Return the distance of each row from its bfloat16 rounding, [T] float64."""
    distance: Tensor = (unit - unit.bfloat16().float()).double().norm(dim=1)
    return distance


def _lexical(keys: list[Tensor]) -> Tensor:
    """Return the indexes that stably sort by the last key, then by the key before it, and so on."""
    order = torch.arange(len(keys[0]), device=keys[0].device)
    for key in keys:
        order = order[key[order].argsort(stable=True)]
    return order


def _check(x: Tensor, k: int, gamma: float, alpha: float, sigma: float, start: int) -> None:
    if x.ndim != 2 or not x.is_floating_point():
        raise ValueError(f"x must be [n, d] of floats, got {[*x.shape]} {x.dtype}")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if not 0 <= alpha <= 1 or not 0 < sigma <= 2**36 or not math.isfinite(gamma):
        raise ValueError(f"0 <= alpha <= 1, 0 < sigma <= 2**36 and gamma finite, not {alpha=}, {sigma=}, {gamma=}")
    if not 0 <= start <= len(x):
        raise ValueError(f"start must be a row in 0..{len(x)}, got {start}")
