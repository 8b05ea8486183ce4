"""Orders of search results: Zep's rerankers (Rasmussen et al. 2025, section 3.2), with the constants of its code.

Reciprocal rank fusion counts 1 / (place + 1) for each ranking; maximal marginal relevance (Carbonell and Goldstein
1998) weighs nearness to the question and unlikeness to what was chosen alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_LAMBDA = 0.5


def fused(rankings: Sequence[Sequence[int]]) -> list[int]:
    """All results, by the sum over rankings of one over their place from 1; ties by first appearance."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, own in enumerate(ranking, 1):
            scores[own] = scores.get(own, 0.0) + 1 / place
    return sorted(scores, key=lambda own: -scores[own])


def marginal(
    results: Sequence[int],
    vectors: Tensor,  # [n, d] unit vectors, by result
    query: Tensor,  # [d]
    most: int,
) -> list[int]:
    """At most so many results, each the nearest to the query and the least like those before it."""
    left = list(results)
    chosen: list[int] = []
    while left and len(chosen) < most:
        near = vectors[left] @ query
        alike = (vectors[left] @ vectors[chosen].T).max(1).values if chosen else torch.zeros(len(left))
        chosen.append(left.pop(int((_LAMBDA * near - (1 - _LAMBDA) * alike).argmax())))
    return chosen
