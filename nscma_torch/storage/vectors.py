"""The episodic score over one user's vectors, exactly, by tensors on the device.

Score(d) = alpha*sim(q, d) + beta*exp(-lambda*(now - t_d)) + gamma*importance(d)   (NSCMA section 3.4.1)

Times are measured in days here; n units, d dimension.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from nscma_kernels import Filter, scored_topk
from nscma_torch.storage.user_index import UserIndex

MICROSECONDS_A_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class EpisodicWeights:
    """alpha, beta, gamma of the score, and lambda as `decay` per day."""

    alpha: float = 1.0
    beta: float = 0.0
    gamma: float = 0.0
    decay: float = math.log(2) / 30


class VectorSearch(Protocol):
    """Finds the units with the best episodic score."""

    def search(self, query: Tensor, *, now: int, mask: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Scores [m] and rows [m], best first, m <= k, among rows under `mask` [n]; `now` in microseconds."""


class TensorSearch:
    """Exact search over the index's own tensors."""

    def __init__(self, index: UserIndex, weights: EpisodicWeights) -> None:
        self._index = index
        self._weights = weights

    def search(self, query: Tensor, *, now: int, mask: Tensor, k: int) -> tuple[Tensor, Tensor]:
        index = self._index
        scores, rows = scored_topk(
            self._weights.alpha * query[None],
            index.contextual,
            k,
            columns=episodic_bias(index, self._weights, now)[:, None],
            weights=query.new_ones(1),
            rows=Filter(mask=mask & index.embedded),
            longest=1.01,  # contextual vectors have unit length, before they are rounded
        )
        found = scores[0] > -torch.inf
        return scores[0][found], rows[0][found]


def episodic_bias(index: UserIndex, weights: EpisodicWeights, now: int) -> Tensor:
    """beta*exp(-lambda*(now - t)) + gamma*importance of each unit, [n] float32; `now` in microseconds."""
    age = (now - index.occurred_at).double() / MICROSECONDS_A_DAY
    return (weights.beta * torch.exp(-weights.decay * age)).float() + weights.gamma * index.importance
