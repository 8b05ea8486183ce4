"""BM25 over one user's units, in which a turn lends its words to its neighbours.

A short turn is often answered or explained by the turn beside it ("When?" "Last Friday."), so a unit's term frequency
and length are

    tf'_i = tf_i + c_i * sum_h w_h * (c_{i-h} * tf_{i-h} + c_{i+h} * tf_{i+h}),   c = min(1, reach / length)

within a session: long units lend and borrow less. IDF counts the units that hold the term themselves. All statistics
belong to the user, so what one user writes changes no other's score. BM25 as in Robertson and Zaragoza 2009, eq.
3.15, idf with + 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nscma_torch.storage.user_index import Posting, UserIndex


@dataclass(frozen=True, slots=True)
class BM25Settings:
    """k1 and b of BM25; `hops` are the weights w_h of a term 1, 2, … turns away; `reach` is in terms."""

    k1: float = 1.2
    b: float = 0.75
    hops: tuple[float, ...] = (0.5, 0.3, 0.15)
    reach: float = 40.0


def bm25(
    index: UserIndex,
    postings: Mapping[str, Posting],
    query_terms: Sequence[str],
    settings: BM25Settings,
    mask: Tensor,
) -> Tensor:
    """BM25 score [n] of each unit under `mask` [n]; 0 elsewhere and where no term matches."""
    scores = torch.zeros(len(index), device=index.device)
    units = int(mask.sum())
    if not units:
        return scores
    spread = _Neighbours(index, index.shares(settings.reach), settings.hops)
    length = spread(torch.where(mask, index.lengths, torch.zeros_like(index.lengths)))
    norm = settings.k1 * (1 - settings.b + settings.b * length / length[mask].mean())
    frequency = torch.zeros_like(scores)
    for term, count in Counter(query_terms).items():
        posting = postings.get(term)
        if posting is None:
            continue
        held = mask[posting.rows]
        rows, tf = posting.rows[held], posting.tf[held]
        if not len(rows):
            continue
        touched = spread.add(frequency, rows, tf)
        found = frequency[touched]
        scores[touched] += count * idf(units, len(rows)) * found * (settings.k1 + 1) / (found + norm[touched])
        frequency[touched] = 0.0
    return scores * mask


def idf(units: int, holders: int) -> float:
    """Inverse document frequency, never negative: ln(1 + (N - df + 0.5) / (df + 0.5))."""
    return math.log(1 + (units - holders + 0.5) / (holders + 0.5))


class _Neighbours:
    """x_i + c_i * sum_h w_h * (c_{i-h} x_{i-h} + c_{i+h} x_{i+h}), following the links of the index."""

    def __init__(self, index: UserIndex, share: Tensor, hops: Sequence[float]) -> None:
        self._share = share
        self._hops = hops
        self._links = (index.previous, index.following)
        # row n is a zero that every missing neighbour points to
        n = len(index)
        pad = torch.full((1,), n, dtype=torch.int64, device=index.device)
        self._padded = [torch.cat([link.where(link >= 0, n), pad]) for link in self._links]

    def __call__(self, x: Tensor) -> Tensor:
        """Of every row. [n]"""
        padded = torch.cat([x * self._share, x.new_zeros(1)])
        total = torch.zeros_like(padded)
        for link in self._padded:
            lent = padded
            for weight in self._hops:
                lent = lent[link]
                total += weight * lent
        return x + self._share * total[:-1]

    def add(self, into: Tensor, rows: Tensor, values: Tensor) -> Tensor:
        """The same of an x that is `values` [m] at `rows` [m] and else 0, added to `into` [n]; the rows it reaches."""
        into[rows] += values
        reached = [rows]
        for link in self._links:
            targets, lent = rows, values * self._share[rows]
            for weight in self._hops:
                targets = link[targets]
                kept = targets >= 0
                targets, lent = targets[kept], lent[kept]
                into[targets] += weight * self._share[targets] * lent  # a link leads to each row once
                reached.append(targets)
        touched: Tensor = torch.unique(torch.cat(reached))
        return touched
