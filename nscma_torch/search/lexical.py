"""BM25 over one user's units, where each turn shares its words with neighbouring turns.

A short turn is often answered or explained by the next one ("When?" "Last Friday."), so a unit's term frequency and
length are

    tf'_i = tf_i + c_i * sum_h w_h * (c_{i-h} * tf_{i-h} + c_{i+h} * tf_{i+h}),   c = min(1, reach / length)

within a session, so that long units lend and borrow less. IDF only counts units that contain the term themselves. All
statistics are per user, so one user's writes don't affect another user's scores. BM25 follows Robertson and Zaragoza
2009, eq. 3.15, with + 1 in the IDF.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from nscma_torch.core.config import RetrievalConfig
from nscma_torch.episodic.index.index_postings import Posting
from nscma_torch.episodic.index.user_index import UserIndex


def bm25(
    index: UserIndex,
    postings: Mapping[str, Posting],
    query_terms: Sequence[str],
    settings: RetrievalConfig,
    mask: Tensor,
) -> Tensor:
    """Return BM25 scores [n]; units outside `mask` [n] or without a matching term have 0."""
    scores = torch.zeros(len(index), device=index.device)
    units = int(mask.sum())
    if not units:
        return scores
    spread = _Neighbours(index, settings)
    length = spread(index.lengths * mask)
    mean = (length[:-1] * mask).sum(dtype=torch.float64) / units  # the same with and without rows that are masked out
    norm = settings.k1 * (1 - settings.b + settings.b * length / mean)
    scores, frequency = torch.zeros_like(length), torch.zeros_like(length)
    for term, count in Counter(query_terms).items():
        posting = postings.get(term)
        if posting is None:
            continue
        rows, tf = posting.rows, posting.tf
        held = mask.index_select(0, rows)
        if not bool(held.all()):
            rows, tf = rows[held], tf[held]
        if not len(rows):
            continue
        touched = spread.add(frequency, rows, tf)
        found = frequency.index_select(0, touched)
        gain = count * idf(units, len(rows)) * found * (settings.k1 + 1) / (found + norm.index_select(0, touched))
        scores.index_copy_(0, touched, scores.index_select(0, touched) + gain)  # a row that comes twice gains once
        frequency.index_fill_(0, touched, 0.0)
    return scores[:-1] * mask


def idf(units: int, holders: int) -> float:
    """Return the inverse document frequency, which is never negative: ln(1 + (N - df + 0.5) / (df + 0.5))."""
    return math.log(1 + (units - holders + 0.5) / (holders + 0.5))


class _Neighbours:
    """Computes x_i + c_i * sum_h w_h * (c_{i-h} x_{i-h} + c_{i+h} x_{i+h}), following the links in the index.

    Tensors are [n + 1]: the last row is zero and represents every missing neighbour.
    """

    def __init__(self, index: UserIndex, settings: RetrievalConfig) -> None:
        self._share = torch.cat([index.shares(settings.reach), index.lengths.new_zeros(1)])
        self._turns = index.turns(len(settings.hops))
        self._weights = 2 * settings.hops

    def __call__(self, x: Tensor) -> Tensor:
        """Return the sum above for every row, shape [n + 1], given x of shape [n]."""
        x = torch.cat([x, x.new_zeros(1)])
        lent, total = x * self._share, torch.zeros_like(x)
        for weight, turn in zip(self._weights, self._turns, strict=True):
            total.add_(lent.index_select(0, turn), alpha=weight)
        return x.addcmul_(self._share, total)

    def add(self, into: Tensor, rows: Tensor, values: Tensor) -> Tensor:
        """Add the sum above to `into` [n + 1], for an x with `values` [m] at `rows` [m] and 0 elsewhere.

        Returns the changed rows, possibly with repetitions.
        """
        into.index_add_(0, rows, values)
        reached, lent = [rows], values * self._share.index_select(0, rows)
        for weight, turn in zip(self._weights, self._turns, strict=True):
            targets = turn.index_select(0, rows)
            into.index_add_(0, targets, self._share.index_select(0, targets) * lent, alpha=weight)
            reached.append(targets)  # a turn leads to each row once
        return torch.cat(reached)
