"""Scores of lines as the bootstrap draws them, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from eval.reporting import bootstrap
from eval.reporting.bootstrap import Interval, Stratum
from eval.reporting.results import Asked, Line

_Scores = Mapping[tuple[str, str], float]  # by sample and question


def interval_note(seed: int) -> str:
    """How every interval of a report was made."""
    return (
        f"Mean [{bootstrap.LEVEL:.0%} interval of {bootstrap.DRAWS:,} bootstrap draws over samples, seed {seed}"
        "]. Settings were open to tuning on samples of even index; claims quote the odd ones. "
        f"A share of fewer than {bootstrap.FEW} samples or questions, each 0 or 1, or of any that are all alike, has "
        "Wilson's interval instead, a difference of such Newcombe's of paired shares (1998, method 10), and a mean of "
        "several the one that theirs make together (Zou and Donner). "
        f"† Fewer than {bootstrap.FEWEST} samples: questions were drawn, and the interval holds for these samples "
        "alone. An interval without width says that all n scored the same, by a score that is not 0 or 1."
    )


def score(lines: Sequence[Line], metric: str, seed: int, categories: Sequence[str] = ()) -> Interval:
    """The mean of a metric over questions; of `categories`, where there are any, the mean of their means.

    FAILED where all samples did: a system that never ran has no score.
    """
    if _failed(lines):
        return bootstrap.FAILED
    strata = [_stratum(scores, scores.keys()) for scores in _strata(lines, metric, categories)]
    return bootstrap.mean(strata, seed)


def difference(
    first: Sequence[Line], second: Sequence[Line], metric: str, seed: int, categories: Sequence[str] = ()
) -> Interval:
    """The first's mean less the second's, on the questions that both have and that the metric applies to in both."""
    if _failed(first) or _failed(second):
        return bootstrap.FAILED
    firsts, seconds = [], []
    for one, other in zip(_strata(first, metric, categories), _strata(second, metric, categories), strict=True):
        shared = one.keys() & other.keys()
        firsts.append(_stratum(one, shared))
        seconds.append(_stratum(other, shared))
    return bootstrap.difference(firsts, seconds, seed)


def of_means(lines: Sequence[Line], metrics: Sequence[str], function: Callable[..., float], seed: int) -> Interval:
    """A function of the means of several metrics, over the questions that all of them apply to."""
    if _failed(lines):
        return bootstrap.FAILED
    scores = [_strata(lines, metric, ())[0] for metric in metrics]
    shared = set.intersection(*(set(own) for own in scores))
    return bootstrap.of_means([_stratum(own, shared) for own in scores], function, seed)


def _failed(lines: Sequence[Line]) -> bool:
    return bool(lines) and all(line.error is not None for line in lines)


def categories_of(lines: Sequence[Line]) -> list[str]:
    """Categories of the questions, by name."""
    return sorted({asked.category for line in lines for asked in line.questions})


def asking(lines: Sequence[Line], categories: Collection[str]) -> list[Line]:
    """Those that ask something of the categories, with these questions alone; all lines where there are no categories.

    A sample that failed without questions asks nothing.
    """
    if not categories:
        return list(lines)
    own = [line.model_copy(update={"questions": _of(line, categories)}) for line in lines]
    return [line for line in own if line.questions]


def _of(line: Line, categories: Collection[str]) -> tuple[Asked, ...]:
    return tuple(asked for asked in line.questions if asked.category in categories)


def _strata(lines: Sequence[Line], metric: str, categories: Sequence[str]) -> list[_Scores]:
    """One for each category, or one of all; a question that the metric does not apply to is left out."""
    return [
        {
            (line.sample, asked.id): asked.scores[metric]
            for line in lines
            for asked in line.questions
            if metric in asked.scores and category in (None, asked.category)
        }
        for category in (categories or (None,))
    ]


def _stratum(scores: _Scores, wanted: Collection[tuple[str, str]]) -> Stratum:
    by_sample: dict[str, list[float]] = {}
    for sample, question in sorted(wanted):
        by_sample.setdefault(sample, []).append(scores[sample, question])
    return bootstrap.stratum(by_sample)
