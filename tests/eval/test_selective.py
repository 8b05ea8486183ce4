from __future__ import annotations

import pytest

from eval.metrics.selective import calibration_error, coverage_at


def test_coverage_is_the_largest_share_that_keeps_the_accuracy() -> None:
    sure = [0.9, 0.8, 0.7, 0.6, 0.5]
    right = [True, False, True, True, False]
    assert coverage_at(0.75, sure, right, 10) == 0.4, "the wrong second answer is made up for by the next two"
    assert coverage_at(0.8, sure, right, 10) == 0.1
    assert coverage_at(0.8, sure, [False] * 5, 10) == 0.0
    assert coverage_at(0.8, [], [], 0) == 0.0


def test_answers_of_equal_confidence_are_given_together() -> None:
    assert coverage_at(0.8, [0.9, 0.9], [True, False], 2) == 0.0
    assert coverage_at(0.5, [0.9, 0.9], [False, True], 2) == 1.0


def test_the_calibration_error_is_the_mean_distance_within_bins() -> None:
    assert calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False]) == pytest.approx(0)
    assert calibration_error([0.95, 0.95, 0.15, 1.0], [True, False, False, True]) == pytest.approx(
        (abs(2.9 - 2) + 0.15) / 4
    )
    assert calibration_error([], []) == 0.0
