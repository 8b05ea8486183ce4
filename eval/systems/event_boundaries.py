"""EM-LLM's events: boundaries at peaks of surprise, moved to where what is alike stays together.

Fountas et al. 2024, "Human-like Episodic Memory for Infinite Context LLMs", algorithm 1. Equation 1 finds the peaks
(`nscma_torch.text.segmentation`). Each boundary then goes to the place between the one before and itself where two
events fit the graph of similarities A best: where the modularity of the two is largest,

    f_M = 1 / (4 m) sum_ij (A_ij - k_i k_j / (2 m)) [i and j are in one event],  k_i = sum_j A_ij,  2 m = sum_i k_i,

or where their conductance is smallest, the least over both of sum_(i in S, j not in S) A_ij / min(vol S, vol not S),
with vol S = sum_(i, j in S) A_ij. As in the authors' code, A is of the event before the boundary and half of its length
on both sides.

Legend: T sentences, d dimensions, w of a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

Metric = Literal["modularity", "conductance"]
_FARTHEST = 256  # sentences that a boundary is moved at most


def refined(starts: Sequence[int], vectors: Tensor, metric: Metric) -> list[int]:
    """The boundaries moved, at most as many.

    Args:
        starts: first sentences of events but for the first event, ascending.
        vectors: unit vectors of all sentences [T, d]; a negative cosine is no similarity.
    """
    found: list[int] = []
    before = 0
    for start in starts:
        first = max(before, start - _FARTHEST)
        half = (start - first) // 2
        if half:
            low, high = max(0, first - half), min(len(vectors), start + half)
            near = vectors[low:high].double()
            fits = fitness((near @ near.T).clamp(min=0), metric)[first - low : start - low]
            start = start - int(fits.flip(0).argmax())  # of equals the one that moves least
        found.append(start)
        before = start
    return found


def fitness(similarity: Tensor, metric: Metric) -> Tensor:
    """How well two events fit a window's similarities [w, w], where the second begins at sentence 1 ... w - 1, [w - 1].

    The larger the better: a conductance is negative.
    """
    w = len(similarity)
    sums = similarity.cumsum(0).cumsum(1)
    at = torch.arange(w - 1)
    total = sums[-1, -1]
    left = sums[at, at]
    cut = sums[at, w - 1] - left
    right = total - left - 2 * cut
    if metric == "conductance":
        return -cut / torch.minimum(left, right).clamp(min=torch.finfo(sums.dtype).tiny)
    expected = ((left + cut) ** 2 + (right + cut) ** 2) / total
    return (left + right - expected) / (2 * total)
