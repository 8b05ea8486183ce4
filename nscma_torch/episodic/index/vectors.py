"""The exact episodic score over one user's vectors, computed with tensors on the device.

Score(d) = alpha*sim(q, d) + beta*exp(-lambda*(now - t_d)) + gamma*importance(d)   (NSCMA section 3.4.1)

sim is the cosine between the question and the unit's vector selected by `score.similarity`. Times are in days here; n
is the number of units, d the dimension.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor

from nscma_kernels import Filter, scored_topk
from nscma_torch.core.config import ScoreConfig
from nscma_torch.episodic.index.index_view import IndexView
from nscma_torch.episodic.index.user_index import UserIndex

MICROSECONDS_A_DAY = 86_400_000_000


class VectorSearch(Protocol):
    """Finds the units with the best episodic score in a user's index. Several threads can search at once."""

    @property
    def nbytes(self) -> int:
        """Return the number of bytes used in addition to the index."""

    def search(self, index: UserIndex, query: Tensor, *, now: int, mask: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return scores [m] and rows [m], best first, with m <= k, among rows under `mask` [n]; `now` is in
        microseconds.
        """


def compared(index: IndexView, weights: ScoreConfig) -> Tensor:
    """Return the vectors [n, d] to compare with questions: either the contextual vectors or the units' own."""
    return index.vectors if weights.similarity == "cosine" else index.contextual


def recency(times: Tensor, decay: float, at: int) -> Tensor:
    """Return exp(-lambda*(at - t)) for times t, as float64; times are in microseconds, lambda is per day. [n]"""
    return torch.exp(decay * ((times - at).double() / MICROSECONDS_A_DAY))


class TensorSearch:
    """Exact search over any user's index tensors.

    As exp(-lambda*(now - t)) = exp(-lambda*(now - t0)) * exp(lambda*(t - t0)), the decay is a weight that depends on
    `now` times a column that doesn't. t0 is `now` rounded down to a multiple of 1/lambda, so both keep float32's
    precision and no score depends on earlier questions. Units later than 2/lambda after t0 get the column value for
    that moment, which is safe because `mask` excludes future units.
    """

    nbytes = 0

    def __init__(self, weights: ScoreConfig) -> None:
        self._weights = weights

    def search(self, index: IndexView, query: Tensor, *, now: int, mask: Tensor, k: int) -> tuple[Tensor, Tensor]:
        w = self._weights
        columns = weights = None
        if w.beta or w.gamma:
            t0 = self._reference(now)
            key = t0, w.decay, index.recall_bound(now)
            columns = index.computed("columns", key, lambda: self._columns(index, t0, now))
            beta = w.beta * math.exp(-w.decay * (now - t0) / MICROSECONDS_A_DAY)
            weights = query.new_tensor([beta, w.gamma])
        scores, rows = scored_topk(
            w.alpha * query[None],
            compared(index, w),
            k,
            columns=columns,
            weights=weights,
            rows=Filter(mask=mask & index.embedded),
            longest=1.01,  # vectors have unit length, before they are rounded
        )
        found = scores[0] > -torch.inf
        return scores[0][found], rows[0][found]

    def _reference(self, now: int) -> int:
        """Return t0, in microseconds."""
        decay = self._weights.decay / MICROSECONDS_A_DAY
        return now - now % max(1, int(1 / decay)) if decay else now

    def _columns(self, index: IndexView, t0: int, now: int) -> Tensor:
        """Return exp(lambda*(t - t0)) and the importance for each unit. [n, 2]"""
        at_t0 = recency(index.since(now), self._weights.decay, t0).clamp_(max=math.exp(2.0))
        return torch.stack([at_t0.float(), index.importance]).T
