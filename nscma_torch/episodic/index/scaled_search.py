"""The episodic score of Generative Agents: each of its three parts is brought to [0, 1] over the units at hand.

score = alpha*cos' + beta*recency' + gamma*importance', where x' = (x - min) / (max - min) over all units that the
question may find (Park et al. 2023, retrieval; `normalize_dict_floats` of the authors' published code, which also says
that a part that is the same for all counts 0.5).
"""

from __future__ import annotations

import torch
from torch import Tensor

from nscma_torch.core.config import ScoreConfig
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import compared, recency

_OF_ALL_ALIKE = 0.5


class ScaledSearch:
    """Exact search by the scaled score: as the score of a unit depends on all others, each question compares all."""

    nbytes = 0

    def __init__(self, weights: ScoreConfig) -> None:
        self._weights = weights

    def search(self, index: UserIndex, query: Tensor, *, now: int, mask: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Scores [m] and rows [m], best first, m <= k, of the rows under `mask` [n] that have a vector."""
        w = self._weights
        rows = torch.nonzero(mask & index.embedded)[:, 0]
        scores = torch.zeros(len(rows), dtype=torch.float64, device=index.device)
        if w.alpha:
            scores += w.alpha * scaled((compared(index, w)[rows].float() @ query).double())
        if w.beta:
            scores += w.beta * scaled(recency(index, w, now=now)[rows])
        if w.gamma:
            scores += w.gamma * scaled(index.importance[rows].double())
        values, order = scores.sort(descending=True, stable=True)
        return values[:k].float(), rows[order[:k]]


def scaled(part: Tensor) -> Tensor:
    """(x - min) / (max - min) of each value [m], 0.5 of values that are all the same."""
    if not len(part):
        return part
    least, most = part.aminmax()
    return (part - least) / (most - least) if most > least else torch.full_like(part, _OF_ALL_ALIKE)
