"""Score intervals of shares, of few 0/1 scores too: of one share, and of the difference of two of the same questions.

Of a share Wilson's (1927). Of the difference of paired shares Newcombe's (1998, Statistics in Medicine 17:2635-2650,
method 10): the distances of both to their Wilson bounds put together, less what the two have in common by their phi
correlation, which is corrected for continuity. Of a share of pairs, the area under a ROC curve, Hanley and McNeil's
(1982, Radiology 143:29-36).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Bounds = tuple[float, float]


def wilson(scores: Scores, level: float) -> Bounds:
    """Bounds of the share of ones among 0/1 scores [n]."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    n, share = len(scores), float(scores.mean())
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def area_bounds(area: float, positives: int, negatives: int, level: float) -> Bounds:
    """Bounds of the area under the ROC curve of so many positive and negative items."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    two_positives, two_negatives = area / (2 - area), 2 * area * area / (1 + area)
    variance = (
        area * (1 - area)
        + (positives - 1) * (two_positives - area * area)
        + (negatives - 1) * (two_negatives - area * area)
    ) / (positives * negatives)
    half = z * math.sqrt(max(0.0, variance))
    return max(0.0, area - half), min(1.0, area + half)


def newcombe(first: Scores, second: Scores, level: float) -> Bounds:
    """Bounds of the share of `first` less that of `second`, 0/1 scores of the same questions [n]."""
    share1, share2 = float(first.mean()), float(second.mean())
    (low1, high1), (low2, high2) = wilson(first, level), wilson(second, level)
    phi = _phi(first, second)
    below = _together(share1 - low1, high2 - share2, phi)
    above = _together(high1 - share1, share2 - low2, phi)
    return share1 - share2 - below, share1 - share2 + above


def _phi(first: Scores, second: Scores) -> float:
    """0 where all scores of a side are the same."""
    n, ones, twos = len(first), float(first.sum()), float(second.sum())
    both = float((first * second).sum())
    product = ones * (n - ones) * twos * (n - twos)
    if not product:
        return 0.0
    determinant = both * n - ones * twos
    if determinant > 0:
        determinant = max(0.0, determinant - n / 2)
    return determinant / math.sqrt(product)


def _together(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))
