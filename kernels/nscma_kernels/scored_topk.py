"""Top-k of an inner product plus a bias: the episodic score of NSCMA section 3.4.1 with time and importance in the
bias.

Legend: Q queries, N vectors, D dimension, k results.
"""

from __future__ import annotations

import torch
from torch import Tensor


def scored_topk(
    queries: Tensor,  # [Q, D]
    vectors: Tensor,  # [N, D]
    bias: Tensor,  # [N] or [Q, N]
    k: int,
    mask: Tensor | None = None,  # [N] or [Q, N] bool, True where a vector may be found
) -> tuple[Tensor, Tensor]:
    """The k largest of `queries @ vectors.T + bias` under `mask`, best first; equal scores by the smaller index.

    Where more vectors share the last place than fit, which of them are among the k is left open.

    Returns scores [Q, m] in the vectors' dtype and indices [Q, m] int64 with m = min(k, N); places that the mask leaves
    empty have score -inf. Raises ValueError where shapes do not fit or k < 1.
    """
    if queries.ndim != 2 or vectors.ndim != 2 or queries.shape[1] != vectors.shape[1]:
        raise ValueError(f"queries [Q, D] and vectors [N, D] expected, got {[*queries.shape]} and {[*vectors.shape]}")
    if k < 1 or bias.shape[-1] != len(vectors):
        raise ValueError(f"k must be at least 1 and bias [..., {len(vectors)}], got k={k} and bias {[*bias.shape]}")
    scores = torch.addmm(bias, queries, vectors.T)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    m = min(k, len(vectors))
    best, index = scores.topk(m, dim=1)
    # topk leaves the order of ties open: sort by index first, then stably by score
    index, order = index.sort(dim=1)
    best, order = best.gather(1, order).sort(dim=1, descending=True, stable=True)
    return best, index.gather(1, order)
