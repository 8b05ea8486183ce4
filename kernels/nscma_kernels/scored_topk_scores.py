"""Scores for `scored_topk`: exact scores for some pairs, and error bounds for the approximate scores of many.

Legend: Q queries, N rows, D dimension, C columns, P pairs of a query and a row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from nscma_kernels.row_filter import Filter

LARGE = 2.0**60  # float32 and bfloat16 score what stays below
CACHE = 2**17  # numbers of float64 that stay in a CPU's cache
_measured = WeakIdKeyDictionary()  # of tensors searched before: their version then, and the length of the longest row


@dataclass(frozen=True)
class Operands:
    """The operands from which scores are computed."""

    queries: Tensor  # [Q, D] in `dtype`
    vectors: Tensor  # [N, D]
    columns: Tensor  # [N, C]
    weights: Tensor  # [Q, C] or [1, C] in `dtype`
    rows: Filter
    longest: float  # a bound on the length of every row

    @staticmethod
    def of(
        queries: Tensor,
        vectors: Tensor,
        columns: Tensor | None,
        weights: Tensor | None,
        rows: Filter | None,
        longest: float | None,
    ) -> Operands:
        """Build the operands, filling in omitted arguments."""
        dtype = torch.float64 if vectors.dtype == torch.float64 else torch.float32
        queries = queries.to(dtype)
        if columns is None or weights is None:
            columns, weights = vectors.new_empty(len(vectors), 0), queries.new_empty(0)
        weights = weights.to(dtype).view(math.prod(weights.shape[:-1]), columns.shape[1])
        longest = _measured_length(vectors) if longest is None else longest
        # squares below 2^-120 may be lost where lengths are measured
        bound = longest * 1.001 + math.sqrt(vectors.shape[1]) * 2.0**-60
        return Operands(queries, vectors, columns, weights, rows or Filter(), bound)

    @property
    def dtype(self) -> torch.dtype:
        """Return the dtype of the scores."""
        return self.queries.dtype

    @cached_property
    def norm(self) -> float:
        """Return the length of the longest query."""
        return float(torch.linalg.vector_norm(self.queries, dim=1, dtype=torch.float64).max())

    @cached_property
    def rounded(self) -> float:
        """Return the largest distance of a query from its bfloat16 rounding."""
        return float(torch.linalg.vector_norm(self.queries - self.queries.bfloat16(), dim=1, dtype=torch.float64).max())

    @cached_property
    def weight(self) -> float:
        """Return the largest sum of absolute weights of any query."""
        return float(self.weights.abs().sum(1, dtype=torch.float64).max()) if self.weights.numel() else 0.0

    def some(self, which: slice | Tensor) -> Operands:
        """Return the operands for some of the queries."""
        weights = self.weights if len(self.weights) == 1 else self.weights[which]
        return replace(self, queries=self.queries[which], weights=weights)

    def exact(self, i: Tensor, j: Tensor) -> Tensor:
        """Return the exact scores [P] of queries `i` with rows `j`."""
        size = cached_rows(self.vectors)
        parts = zip(torch.split(i, size), torch.split(j, size), strict=True) if len(i) > size else [(i, j)]
        found = [_dots(self.vectors, j, self.queries, i) for i, j in parts]
        score = found[0] if len(found) == 1 else torch.cat(found)
        if self.columns.shape[1]:
            score += _dots(self.columns, j, self.weights, i)
        return score.to(self.dtype)

    def magnitude(self, largest: float) -> float:
        """Return a bound on the absolute score of rows with column values up to `largest`."""
        return self.norm * self.longest + self.weight * largest

    def largest(self, largest: float) -> float:
        """Return the largest input to an approximate score. Raises `ValueError` if scores may be infinite."""
        size = self.magnitude(largest)
        if not size < torch.finfo(self.dtype).max / 2:
            raise ValueError(f"scores may exceed {self.dtype}: scale queries, weights, vectors or columns down")
        return max(size, self.norm, self.weight, self.longest, largest)

    def error(self, largest: float, dtype: torch.dtype) -> float:
        """Return a bound on the error of an approximate score computed from operands in `dtype`, before the score is
        rounded.

        If the user's settings let float32 products round their operands, the bound assumes bfloat16.
        """
        longest, size = self.longest, self.magnitude(largest)
        terms = self.vectors.shape[1] + self.columns.shape[1] + 16
        if dtype == torch.float64:
            return size * terms * 2.0**-52
        error = size * terms * 2.0**-23 + terms * 2.0**-120 * (1 + self.norm + self.weight + longest + largest)
        if dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest":
            return error
        error += self.rounded * longest + self.weight * largest * 2.0**-14
        if self.vectors.dtype != torch.bfloat16:
            error += (self.norm + self.rounded) * longest * 2.0**-8.99
        return error


def _dots(one: Tensor, j: Tensor, other: Tensor, i: Tensor) -> Tensor:
    """Return the inner products [P] float64 of rows `j` of `one` with rows `i` of `other`, or with its only row."""
    return one[j].double().mul_(other if len(other) == 1 else other[i]).sum(1)


class Pairs(NamedTuple):
    """Candidate pairs of queries and rows, in any order, without duplicates."""

    query: Tensor  # [P] int64
    row: Tensor  # [P] int64
    most: Tensor  # [P] a bound on the score from above


def choose(operands: Operands, pairs: Pairs, m: int, scores: Tensor, index: Tensor) -> Tensor:
    """Write the m best pairs of each query into `scores` and `index` [Q, m]; return their positions in `pairs`."""
    score = operands.exact(pairs.query, pairs.row)
    order = pairs.row.argsort()
    order = order[score[order].argsort(descending=True, stable=True)]
    if len(scores) == 1:
        order = order[:m]
        scores[0, : len(order)], index[0, : len(order)] = score[order], pairs.row[order]
        return order
    order = order[pairs.query[order].argsort(stable=True)]
    query = pairs.query[order]
    rank = torch.arange(len(query), device=query.device) - torch.searchsorted(query, query)
    best = (rank < m).nonzero()[:, 0]
    order, query, rank = order[best], query[best], rank[best]
    scores[query, rank], index[query, rank] = score[order], pairs.row[order]
    return order


def _measured_length(vectors: Tensor) -> float:
    """Return the length of the longest row. It is measured once per tensor, and again if torch has changed the tensor
    in place.
    """
    if len(vectors) == 0:
        return 0.0
    version = None if vectors.is_inference() else vectors._version
    if version is not None and vectors in _measured and _measured[vectors][0] == version:
        return float(_measured[vectors][1])
    tiles = torch.split(vectors, cached_rows(vectors))
    dtype = torch.promote_types(vectors.dtype, torch.float32)
    longest = max(float(torch.linalg.vector_norm(tile.to(dtype), dim=1).max()) for tile in tiles)
    if not math.isfinite(longest):  # perhaps only the squares are too large
        longest = max(float(torch.linalg.vector_norm(tile.double(), dim=1).max()) for tile in tiles)
    if not math.isfinite(longest):
        raise ValueError("vectors must be finite: some rows contain NaN, infinity or values above 1e150")
    if version is not None:
        _measured[vectors] = (version, longest)
    return longest


def largest_of(columns: Tensor) -> float:
    """Return the largest absolute value in the columns."""
    if columns.numel() == 0:
        return 0.0
    low, high = (columns if columns.is_contiguous() else columns.T).aminmax()
    largest = max(-float(low), float(high))
    if not math.isfinite(largest):
        raise ValueError("columns must be finite: some rows contain NaN or infinity")
    return largest


def cached_rows(x: Tensor) -> int:
    """Return the number of rows that fit in a CPU's cache in float64, or that fill a GPU."""
    return max(1, (CACHE if x.device.type == "cpu" else 2**26) // max(1, x.shape[1]))
