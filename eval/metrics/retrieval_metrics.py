"""Measures of retrieval."""

from __future__ import annotations

from collections.abc import Collection, Sequence


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
