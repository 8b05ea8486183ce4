"""Measures of a printed table, against values worked out by hand."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from eval.reporting.measures import Measure, area, average, measure_table, share
from eval.reporting.shares import area_bounds


@pytest.mark.parametrize(("positives", "negatives"), [(10, 10), (7, 30)])
def test_the_bounds_of_an_area_of_a_half_are_those_of_mann_and_whitney(positives: int, negatives: int) -> None:
    low, high = area_bounds(0.5, positives, negatives, 0.95)
    exact = math.sqrt((positives + negatives + 1) / (12 * positives * negatives))  # of U / (m n) without a difference
    assert (0.5 - low, high - 0.5) == pytest.approx((NormalDist().inv_cdf(0.975) * exact,) * 2)
    assert area_bounds(1.0, positives, negatives, 0.95) == (1.0, 1.0)


def test_an_area_tells_which_side_is_higher() -> None:
    one = area("AUC", [0.9, 0.4], [0.5, 0.1])
    assert (one.value, one.n) == (0.75, 4) and one.low < 0.75 <= one.high


def test_a_mean_is_over_items_and_its_interval_over_samples() -> None:
    alike = {str(i): [1.0, 0.5] for i in range(10)}
    apart = {str(i): [1.0, 1.0] if i < 5 else [0.5, 0.5] for i in range(10)}
    one, other = average("F1", alike), average("F1", apart)
    assert (one.value, one.low, one.high, one.n) == (0.75, 0.75, 0.75, 20)
    assert (other.value, other.n) == (0.75, 20) and other.low < 0.7 < 0.8 < other.high


def test_nothing_is_shown_as_nothing() -> None:
    for one in (share("s", []), area("a", [0.1], []), average("m", {})):
        assert math.isnan(one.value) and one.n == 0
    table = measure_table("title", [share("s", []), Measure("m", 0.5, 0.25, 0.75, 4)])
    cells = [list(column.cells) for column in table.columns]
    assert cells == [["s", "m"], ["–", "0.500"], ["", "[0.250, 0.750]"], ["0", "4"]]
