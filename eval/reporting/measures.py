"""Measures with their intervals of 95 %, as rows of a table that a program prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from rich.table import Table

from eval.metrics.retrieval_metrics import auc
from eval.reporting import bootstrap
from eval.reporting.shares import area_bounds, wilson

_SEED = 1  # of bootstrap draws


class Measure(NamedTuple):
    """A value of n items with the bounds of its interval; NaN of none."""

    name: str
    value: float
    low: float
    high: float
    n: int


def share(name: str, values: Sequence[bool]) -> Measure:
    """The share of what is true, with Wilson's interval."""
    if not values:
        return _nothing(name)
    scores = np.asarray(values, dtype=np.float64)
    return Measure(name, float(scores.mean()), *wilson(scores, bootstrap.LEVEL), len(values))


def average(name: str, scores: Mapping[str, Sequence[float]]) -> Measure:
    """The mean of scores in [0, 1] by sample (text, conversation), with a bootstrap interval over samples.

    Of fewer than ten samples the items are drawn in their place.
    """
    found = bootstrap.mean([bootstrap.stratum(scores)], _SEED)
    return Measure(name, found.value, found.low, found.high, found.questions)


def area(name: str, positive: Sequence[float], negative: Sequence[float]) -> Measure:
    """The area under the ROC curve, with Hanley and McNeil's interval."""
    if not positive or not negative:
        return _nothing(name)
    n = len(positive), len(negative)
    value = auc([*positive, *negative], [True] * n[0] + [False] * n[1])
    return Measure(name, value, *area_bounds(value, *n, bootstrap.LEVEL), sum(n))


def measure_table(title: str, measures: Sequence[Measure]) -> Table:
    """A row for each measure."""
    printed = Table(title=title, title_justify="left")
    for column in ("measure", "value", "95 %", "n"):
        printed.add_column(column, justify="left" if column == "measure" else "right")
    for one in measures:
        bounds = "" if math.isnan(one.low) else f"[{one.low:.3f}, {one.high:.3f}]"
        printed.add_row(one.name, "–" if math.isnan(one.value) else f"{one.value:.3f}", bounds, str(one.n))
    return printed


def _nothing(name: str) -> Measure:
    return Measure(name, math.nan, math.nan, math.nan, 0)
