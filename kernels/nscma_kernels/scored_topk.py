"""Exact top-k by an inner product plus weighted columns, among the rows that pass filters.

NSCMA section 3.4.1 scores a memory by alpha sim + beta exp(-lambda (now - t)) + gamma importance. Since the decay
factorises into exp(-lambda (now - t0)) exp(lambda (t - t0)), the score is an inner product with stored vectors and
columns that don't depend on `now`.

Method: a matrix product in the fastest dtype, with bounded error, gives approximate scores for each query. Rows are
divided into groups. Proof: the k-th largest value of (group maximum - error) is at most the k-th best score, because k
groups contain at least k rows. So a row can't be among the k best if its approximate score plus error is less than
that. All other rows are scored exactly.

Legend: Q queries, N rows, D dimension, C columns, R keys, P pairs of a query and a row. A stripe consists of T rows,
divided into groups.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from nscma_kernels.implementation import Impl, on_triton
from nscma_kernels.row_filter import Filter
from nscma_kernels.scored_topk_scores import Operands
from nscma_kernels.scored_topk_torch import search_in_stripes

BLOCK = 256  # queries that share a stripe


@torch.no_grad()
def scored_topk(
    queries: Tensor,  # [Q, D]
    vectors: Tensor,  # [N, D] float32, bfloat16 or float64
    k: int,
    *,
    columns: Tensor | None = None,  # [N, C]
    weights: Tensor | None = None,  # [C] or [Q, C]
    rows: Filter | None = None,
    longest: float | None = None,
    impl: Impl = "auto",
) -> tuple[Tensor, Tensor]:
    """Return the k rows with the largest <q_i, x_j> + sum_c weights_ic columns_jc, best first; ties go to the smaller
    index.

    Scores are computed in float64 and rounded to float32 (not rounded for float64 vectors). So a score depends only on
    its query and row, and the result equals a stable sort of all scores, regardless of the tiling, duplicate rows, rows
    added later or the number of threads. Columns keep their own precision if vectors are stored in bfloat16. Columns
    that are contiguous along N (`torch.stack([...]).T`) are multiplied fastest.

    The first search of a tensor also measures the lengths of its rows, which at Q = 1 takes as long as the search
    itself. Later searches of the same tensor object measure again only if torch has changed the tensor in place. Other
    changes, through NumPy or `.data`, are not detected; after such a change, pass a new view, `vectors[:]`. If you
    create a new view for each search and know a bound on the Euclidean length of all rows (for example, 1.001 for
    normalised vectors), pass it as `longest`. All rows must be finite, even those that are filtered out; this is
    checked when lengths are measured. Apart from the result, memory use doesn't grow with N or Q: it holds a copy of a
    stripe, the stripe's approximate scores, and some pairs. float64 vectors are always searched in plain torch.

    Returns scores [Q, m] and indices [Q, m] int64, with m = min(k, N). Places that filters leave empty are -inf and -1.
    Raises `ValueError` if shapes, dtypes, values or `impl` are invalid.
    """
    _check(queries, vectors, k, columns, weights, rows, longest)
    operands = Operands.of(queries, vectors, columns, weights, rows, longest)
    m = min(k, len(vectors))
    scores = torch.full((len(queries), m), -torch.inf, dtype=operands.dtype, device=vectors.device)
    index = torch.full((len(queries), m), -1, dtype=torch.int64, device=vectors.device)
    search = search_in_stripes
    if on_triton(impl, vectors) and operands.dtype == torch.float32:
        from nscma_kernels.triton.scored_topk import search
    for begin in range(0, len(queries) if m else 0, BLOCK):
        part = slice(begin, begin + BLOCK)
        block = operands.some(part) if len(queries) > BLOCK else operands
        if not math.isfinite(block.norm + block.weight):
            raise ValueError("queries and weights must be finite: some contain NaN, infinity or values above 1e150")
        search(block, m, scores[part], index[part])
    return scores, index


def _check(
    queries: Tensor,
    vectors: Tensor,
    k: int,
    columns: Tensor | None,
    weights: Tensor | None,
    rows: Filter | None,
    longest: float | None,
) -> None:
    if queries.ndim != 2 or vectors.ndim != 2 or queries.shape[1] != vectors.shape[1]:
        raise ValueError(f"queries [Q, D] and vectors [N, D] expected, got {[*queries.shape]} and {[*vectors.shape]}")
    if vectors.dtype not in (torch.float32, torch.bfloat16, torch.float64) or not queries.is_floating_point():
        raise ValueError(
            f"vectors must be float32, bfloat16 or float64, and queries of floats, got {vectors.dtype} "
            f"and {queries.dtype}: convert them"
        )
    if queries.dtype == torch.float64 and vectors.dtype != torch.float64:
        raise ValueError(f"float64 queries need float64 vectors, got {vectors.dtype}: pass queries.float()")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if (columns is None) != (weights is None):
        raise ValueError("columns and weights go together: pass both or neither")
    if columns is not None and weights is not None:
        n, q = len(vectors), len(queries)
        dtype = torch.float64 if vectors.dtype == torch.float64 else torch.float32
        if columns.ndim != 2 or len(columns) != n or columns.dtype not in (torch.float32, dtype):
            raise ValueError(f"columns must be [{n}, C] of {dtype}, got {[*columns.shape]} {columns.dtype}")
        c = columns.shape[1]
        if weights.shape not in ((c,), (q, c)) or not weights.is_floating_point():
            raise ValueError(f"weights must be [{c}] or [{q}, {c}] of floats, got {[*weights.shape]} {weights.dtype}")
    if longest is not None and not (0 <= longest < math.inf):
        raise ValueError(f"longest must be a length, finite and not negative, got {longest}")
    if rows is not None and not isinstance(rows, Filter):
        raise TypeError(f"rows must be a Filter, such as Filter(mask=...), got {type(rows).__name__}")
    if rows is not None:
        rows.check(len(vectors))
