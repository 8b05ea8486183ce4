"""Bootstrap intervals of means over samples, and of differences between two systems on the same samples.

A sample is drawn as a whole with all its questions, since they share what was read. Where there are fewer than ten
samples (conversations, or one corpus for all questions) the questions are drawn in their place: such an interval holds
for these samples and says nothing of others, and a dagger marks it. Percentile intervals of 10,000 draws (Efron and
Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13); the draws depend on the seed and the number of what is
drawn alone, so the same is drawn for both systems of a difference.

Of few 0/1 scores such intervals are too short: at n = 5 they hold a share of .9 in 40 % of all cases. A share of fewer
than 30 has Wilson's score interval instead, and a difference of such shares Newcombe's; so have those of more whose
draws are all the same, as where all is right or no pair differs. A mean of shares, or of differences, has the interval
that theirs make together (Zou and Donner 2008, doi:10.1002/sim.3095).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eval.reporting.shares import Bounds, newcombe, wilson

DRAWS = 10_000
LEVEL = 0.95
FEWEST = 10  # samples that are drawn; of fewer the questions are
FEW = 30  # 0/1 scores below which shares have score intervals
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

    Attributes:
        p: of a difference, that it is none: twice the smaller share of draws on either side of 0; else NaN.
        failed: all samples did.
    """

    value: float
    low: float
    high: float
    samples: int
    questions: int
    drawn: int
    p: float = math.nan
    failed: bool = False

    @property
    def of_questions(self) -> bool:
        """Whether questions were drawn in the place of samples."""
        return self.drawn > self.samples

    def __str__(self) -> str:
        if not self.drawn:
            return "failed" if self.failed else "–"
        bounds = "one question" if self.drawn == 1 else f"{self.low:.3f}, {self.high:.3f}"
        return f"{self.value:.3f} [{bounds}]{'†' if self.of_questions else ''}"


NOTHING = Interval(math.nan, math.nan, math.nan, 0, 0, 0)
FAILED = Interval(math.nan, math.nan, math.nan, 0, 0, 0, failed=True)


def mean(strata: Sequence[Stratum], seed: int) -> Interval:
    """The mean over questions, of several strata the mean of their means; NOTHING where a stratum is empty."""
    if not strata or any(not len(stratum.totals) for stratum in strata):
        return NOTHING
    value = _estimate(strata)
    bounds = _percentiles(_draws(strata, seed))
    if all(map(_is_share, strata)) and (_few(strata) or bounds[0] == bounds[1]):
        bounds = _together([(_estimate([one]), wilson(one.totals, LEVEL)) for one in strata])
    return _interval(value, bounds, strata)


def of_means(parts: Sequence[Stratum], function: Callable[..., float], seed: int) -> Interval:
    """A function of the means of several scores of the same questions, which are drawn together."""
    if not len(parts[0].totals):
        return NOTHING
    draws = np.array([function(*row) for row in zip(*(_draws([one], seed) for one in parts), strict=True)])
    return _interval(function(*(_estimate([one]) for one in parts)), _percentiles(draws), parts[:1])


def difference(first: Sequence[Stratum], second: Sequence[Stratum], seed: int) -> Interval:
    """First less second; both have the same samples in the same order. Its p is always of draws."""
    sizes = [[len(stratum.totals) for stratum in one] for one in (first, second)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"a paired difference needs the same samples on both sides, not {sizes[0]} and {sizes[1]}")
    if not sizes[0] or 0 in sizes[0]:
        return NOTHING
    draws = _draws(first, seed) - _draws(second, seed)
    beyond = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    p = min(1.0, 2 * (beyond + 1) / (len(draws) + 1))
    value = _estimate(first) - _estimate(second)
    return replace(_interval(value, _bounds(first, second, draws), first), p=p)


def holm(ps: Sequence[float]) -> list[float]:
    """p of each of several tests such that together they err as seldom as one (Holm 1979); NaN is no test."""
    order = sorted((i for i, p in enumerate(ps) if not math.isnan(p)), key=lambda i: ps[i])
    adjusted, most = list(ps), 0.0
    for rank, i in enumerate(order):
        most = max(most, min(1.0, (len(order) - rank) * ps[i]))
        adjusted[i] = most
    return adjusted


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


def _percentiles(draws: Floats) -> Bounds:
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _is_share(stratum: Stratum) -> bool:
    return bool((stratum.counts == 1).all() and np.isin(stratum.totals, (0.0, 1.0)).all())


def _few(strata: Sequence[Stratum]) -> bool:
    return min(len(stratum.totals) for stratum in strata) < FEW


def _bounds(first: Sequence[Stratum], second: Sequence[Stratum], draws: Floats) -> Bounds:
    """Of a difference."""
    low, high = _percentiles(draws)
    if not all(map(_is_share, (*first, *second))) or (low < high and not _few(first)):
        return low, high
    return _together(
        [
            (_estimate([one]) - _estimate([other]), newcombe(one.totals, other.totals, LEVEL))
            for one, other in zip(first, second, strict=True)
        ]
    )


def _together(found: Sequence[tuple[float, Bounds]]) -> Bounds:
    """Bounds of the mean of several values, their distances put together as variances are (Zou and Donner)."""
    value = float(np.mean([own for own, _ in found]))
    below = math.sqrt(sum((own - low) ** 2 for own, (low, _) in found)) / len(found)
    above = math.sqrt(sum((high - own) ** 2 for own, (_, high) in found)) / len(found)
    return value - below, value + above


def _interval(value: float, bounds: Bounds, strata: Sequence[Stratum]) -> Interval:
    samples = sum(stratum.samples for stratum in strata)
    questions = int(sum(stratum.counts.sum() for stratum in strata))
    drawn = sum(len(stratum.totals) for stratum in strata)
    low, high = bounds if drawn > 1 else (math.nan, math.nan)
    return Interval(value, low, high, samples, questions, drawn)
