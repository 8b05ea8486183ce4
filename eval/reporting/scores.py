"""Scores of lines as the bootstrap draws them, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eval.reporting import bootstrap
from eval.reporting.bootstrap import Interval, Stratum
from eval.reporting.results import Line

_Sums = Mapping[str, tuple[float, int]]  # of a sample: sum of its scores, and over how many questions


def score(lines: Sequence[Line], metric: str, seed: int, categories: Sequence[str] = ()) -> Interval:
    """The mean of a metric over questions; of `categories`, where there are any, the mean of their means."""
    return bootstrap.mean([_stratum(own) for own in _strata(lines, metric, categories)], seed)


def difference(
    first: Sequence[Line], second: Sequence[Line], metric: str, seed: int, categories: Sequence[str] = ()
) -> Interval:
    """The first's mean less the second's, on the samples that both have and that the metric applies to in both."""
    firsts, seconds = [], []
    for one, other in zip(_strata(first, metric, categories), _strata(second, metric, categories), strict=True):
        shared = sorted(one.keys() & other.keys())
        firsts.append(_stratum({sample: one[sample] for sample in shared}))
        seconds.append(_stratum({sample: other[sample] for sample in shared}))
    return bootstrap.difference(firsts, seconds, seed)


def categories_of(lines: Sequence[Line]) -> list[str]:
    """Categories of the questions, by name."""
    return sorted({asked.category for line in lines for asked in line.questions})


def _strata(lines: Sequence[Line], metric: str, categories: Sequence[str]) -> list[_Sums]:
    if not categories:
        return [_sums(lines, metric, None)]
    return [_sums(lines, metric, category) for category in categories]


def _sums(lines: Sequence[Line], metric: str, category: str | None) -> _Sums:
    """By sample; one that the metric does not apply to is left out."""
    found = {}
    for line in lines:
        own = [q.scores[metric] for q in line.questions if metric in q.scores and category in (None, q.category)]
        if own:
            found[line.sample] = (sum(own), len(own))
    return found


def _stratum(sums: _Sums) -> Stratum:
    values = np.array(list(sums.values()), dtype=np.float64).reshape(-1, 2)
    return Stratum(values[:, 0], values[:, 1])
