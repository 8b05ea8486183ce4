"""Bootstrap intervals of means over samples, and of differences between two systems on the same samples.

A sample is drawn as a whole with all its questions, since they share what was read. Where there are fewer than ten
samples (conversations, or one corpus for all questions) the questions are drawn in their place: such an interval holds
for these samples and says nothing of others, and a dagger marks it. Percentile intervals of 10,000 draws (Efron and
Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13); the draws depend on the seed and the number of what is
drawn alone, so the same is drawn for both systems of a difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000
LEVEL = 0.95
FEWEST = 10  # samples that are drawn; of fewer the questions are
_BLOCK = 4_000_000  # numbers drawn at once

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stratum:
    """What is drawn among itself: the sum of each one's scores [n], how many questions it has [n], and of how many
    samples all of them are."""

    totals: Floats
    counts: Floats
    samples: int


def stratum(scores: Mapping[str, Sequence[float]]) -> Stratum:
    """The scores of the questions of each sample; a sample without any is left out."""
    whole = [own for own in scores.values() if own]
    drawn = whole if len(whole) >= FEWEST else [[score] for own in whole for score in own]
    values = np.array([(sum(own), len(own)) for own in drawn], dtype=np.float64).reshape(-1, 2)
    return Stratum(values[:, 0], values[:, 1], len(whole))


@dataclass(frozen=True)
class Interval:
    """A mean, its bounds, how many samples and questions it is over, and how many of them were drawn among each other.

    The bounds are NaN where fewer than two were.
    """

    value: float
    low: float
    high: float
    samples: int
    questions: int
    drawn: int

    def __str__(self) -> str:
        if not self.drawn:
            return "–"
        bounds = "one question" if self.drawn == 1 else f"{self.low:.3f}, {self.high:.3f}"
        return f"{self.value:.3f} [{bounds}]{'†' if self.drawn > self.samples else ''}"


NOTHING = Interval(float("nan"), float("nan"), float("nan"), 0, 0, 0)


def mean(strata: Sequence[Stratum], seed: int) -> Interval:
    """The mean over questions, of several strata the mean of their means; NOTHING where a stratum is empty."""
    if not strata or any(not len(stratum.totals) for stratum in strata):
        return NOTHING
    return _interval(_estimate(strata), _draws(strata, seed), strata)


def difference(first: Sequence[Stratum], second: Sequence[Stratum], seed: int) -> Interval:
    """First less second; both have the same samples in the same order."""
    sizes = [[len(stratum.totals) for stratum in one] for one in (first, second)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"a paired difference needs the same samples on both sides, not {sizes[0]} and {sizes[1]}")
    if not sizes[0] or 0 in sizes[0]:
        return NOTHING
    return _interval(_estimate(first) - _estimate(second), _draws(first, seed) - _draws(second, seed), first)


def _estimate(strata: Sequence[Stratum]) -> float:
    return float(np.mean([stratum.totals.sum() / stratum.counts.sum() for stratum in strata]))


def _draws(strata: Sequence[Stratum], seed: int) -> Floats:
    """The estimate on each of the draws [DRAWS]."""
    means: Floats = np.mean([_resampled(stratum, [seed, number]) for number, stratum in enumerate(strata)], axis=0)
    return means


def _resampled(stratum: Stratum, seed: Sequence[int]) -> Floats:
    generator = np.random.default_rng(seed)
    n = len(stratum.totals)
    block = max(1, _BLOCK // n)
    means = []
    for start in range(0, DRAWS, block):
        drawn = generator.integers(n, size=(min(block, DRAWS - start), n))
        means.append(stratum.totals[drawn].sum(1) / stratum.counts[drawn].sum(1))
    return np.concatenate(means)


def _interval(value: float, draws: Floats, strata: Sequence[Stratum]) -> Interval:
    samples = sum(stratum.samples for stratum in strata)
    questions = int(sum(stratum.counts.sum() for stratum in strata))
    drawn = sum(len(stratum.totals) for stratum in strata)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if drawn > 1 else (np.nan, np.nan)
    return Interval(value, float(low), float(high), samples, questions, drawn)
