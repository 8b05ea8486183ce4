"""The episodic score from Generative Agents: each of its three parts is scaled to [0, 1] over the candidate units.

score = alpha*cos' + beta*recency' + gamma*importance', where x' = (x - min) / (max - min) over all units that the
question can find (Park et al. 2023, retrieval; `normalize_dict_floats` in the authors' published code, where a constant
part counts as 0.5).
"""

from __future__ import annotations

import torch
from torch import Tensor

from nscma_torch.core.config import ScoreConfig
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import compared, recency

_OF_ALL_ALIKE = 0.5


class ScaledSearch:
    """Exact search by the scaled score: a unit's score depends on all other units, so each question is compared with
    all of them.
    """

    nbytes = 0

    def __init__(self, weights: ScoreConfig) -> None:
        self._weights = weights

    def search(self, index: UserIndex, query: Tensor, *, now: int, mask: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return scores [m] and rows [m], best first, with m <= k, for the rows under `mask` [n] that have a vector."""
        w = self._weights
        rows = torch.nonzero(mask & index.embedded)[:, 0]
        scores = torch.zeros(len(rows), dtype=torch.float64, device=index.device)
        if w.alpha:
            scores += w.alpha * scaled((compared(index, w)[rows].float() @ query).double())
        if w.beta:
            scores += w.beta * scaled(recency(index.since(now), w.decay, now)[rows])
        if w.gamma:
            scores += w.gamma * scaled(index.importance[rows].double())
        values, order = scores.sort(descending=True, stable=True)
        return values[:k].float(), rows[order[:k]]


def scaled(part: Tensor) -> Tensor:
    """Scale values [m] to (x - min) / (max - min); the result is 0.5 if all are equal."""
    if not len(part):
        return part
    least, most = part.aminmax()
    return (part - least) / (most - least) if most > least else torch.full_like(part, _OF_ALL_ALIKE)
