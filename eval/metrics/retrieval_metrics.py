"""Measures of retrieval and of clusterings."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import torch
from torch import Tensor


def recall_at(ranked: Sequence[int], relevant: Collection[int], k: int) -> float:
    """Share of the relevant items among the first k ranked ones."""
    return len(set(ranked[:k]) & set(relevant)) / len(relevant)


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean; NaN of nothing."""
    return sum(values) / len(values) if values else float("nan")


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Area under the ROC curve: the chance that a positive scores above a negative, ties counting half."""
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    ranks = [0.0] * len(scores)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[end]] == scores[order[start]]:
            end += 1
        for i in order[start:end]:
            ranks[i] = (start + 1 + end) / 2
        start = end
    positives = sum(labels)
    negatives = len(labels) - positives
    above = sum(rank for rank, label in zip(ranks, labels, strict=True) if label) - positives * (positives + 1) / 2
    return above / (positives * negatives)


def overlapping_nmi(first: Sequence[Collection[int]], second: Sequence[Collection[int]], n: int) -> float:
    """NMI_max of two covers of n nodes by clusters that may overlap, in [0, 1]; 1 where they are equal.

    McDaid, Greene and Hurley, "Normalized Mutual Information to evaluate overlapping community finding algorithms"
    (arXiv:1110.2515), equations 1 to 6 and section 3: I = (H(X) - H(X|Y) + H(Y) - H(Y|X)) / 2 over max(H(X), H(Y)).
    Members are numbers in [0, n); a node may be in no cluster. Raises `ValueError` where neither cover says anything.
    """
    x, y = _membership(first, n), _membership(second, n)
    h_x, h_y = _binary_entropy(x.sum(1), n), _binary_entropy(y.sum(1), n)
    most = max(float(h_x.sum()), float(h_y.sum()))
    if most == 0:
        raise ValueError("neither cover has a cluster of some but not all nodes: their information is not defined")
    if not len(x) or not len(y):
        return 0.0
    both = x @ y.T  # [X, Y] nodes in the one and the other
    only_x, only_y = x.sum(1)[:, None] - both, y.sum(1)[None] - both
    neither = n - both - only_x - only_y
    agree, differ = _term(both, n) + _term(neither, n), _term(only_x, n) + _term(only_y, n)
    informative = agree >= differ
    given_y = torch.where(informative, agree + differ - h_y[None], h_x[:, None]).amin(1)
    given_x = torch.where(informative, agree + differ - h_x[:, None], h_y[None]).amin(0)
    shared = (h_x.sum() - given_y.sum() + h_y.sum() - given_x.sum()) / 2
    return float(shared) / most


def _membership(clusters: Sequence[Collection[int]], n: int) -> Tensor:
    """[C, n] float64, 1 for a member."""
    member = torch.zeros(len(clusters), n, dtype=torch.float64)
    for row, cluster in enumerate(clusters):
        member[row, list(cluster)] = 1.0
    return member


def _term(count: Tensor, n: int) -> Tensor:
    """-p log2 p of p = count / n, 0 for none."""
    entropy: Tensor = torch.special.entr(count / n)
    return entropy / math.log(2)


def _binary_entropy(count: Tensor, n: int) -> Tensor:
    return _term(count, n) + _term(n - count, n)
