"""eval.experiments.reading.calibration: the weights of a logistic model come back, and every set weighs the same."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from eval.experiments.reading.calibration import Point, by_author, by_threshold, fit_states, fitted, with_states
from nscma_torch.reading.confidence import CORRECT, StateLayer, confidence


def features(**given: float) -> dict[str, float]:
    return {name: given.get(name, float(name == "intercept")) for name in CORRECT}


def test_the_weights_come_back() -> None:
    rng, truth = random.Random(0), {"intercept": 0.5, "answerable": 1.2, "evidence": -0.7, "others": -2.0}
    rows = [
        features(answerable=rng.gauss(0, 2), evidence=rng.gauss(0, 1), others=rng.gauss(0, 1)) for _ in range(20_000)
    ]
    found = fitted([(rows, [rng.random() < confidence(row, truth) for row in rows])])
    assert np.allclose([found[name] for name in truth], [*truth.values()], atol=0.15), (
        "the penalty shrinks them a little"
    )
    assert all(abs(found[name]) < 0.05 for name in CORRECT if name not in truth)


def test_a_large_set_does_not_outweigh_a_small_one() -> None:
    rng = random.Random(1)
    yes, no = ([features(answerable=rng.gauss(0, 1)) for _ in range(n)] for n in (5000, 50))
    assert abs(fitted([(yes, [True] * 5000), (no, [False] * 50)])["intercept"]) < 0.5


def test_the_tables_count_answers_silences_and_inventions() -> None:
    points = [
        Point("ada", features(answerable=2.0), True, True),
        Point("ada", features(answerable=1.0), False, True),
        Point("bo", features(answerable=-2.0), None, True),
        Point("bo", features(answerable=1.5), False, False),
    ]
    weights = {"answerable": 1.0}
    cells = {str(column.header): [*column.cells] for column in by_author(points, weights, weights).columns}
    assert cells["author"] == ["ada", "bo", "all"] and cells["n"] == ["2", "2", "4"]
    assert cells["right"][-1] == "0.333" and cells["coverage at .8"] == ["0.500", "0.000", "0.250"]
    printed = by_threshold(points, weights)
    rows = dict(zip(printed.columns[0].cells, zip(*(c.cells for c in printed.columns[1:]), strict=True), strict=True))
    assert rows["0.50"] == ("0.333", "0.333", "1.000")
    assert rows["0.80"] == ("0.333", "0.667", "1.000")
    assert confidence(points[3].features, weights) == pytest.approx(0.818, abs=1e-3)


def test_hidden_states_explain_what_the_features_leave_over() -> None:
    torch.manual_seed(0)
    points = [Point("ada", features(), None, False, torch.randn(4)) for _ in range(400)]
    points[0] = replace(points[0], summary=None)
    told = [point.summary is not None and bool(point.summary[1] > 0) for point in points]
    layer = StateLayer(4)
    fit_states(layer, [(points, told)], {"intercept": 0.0})
    known = with_states(points, layer)
    assert known[0].features["states"] == 0.0
    right = [(point.features["states"] > 0) == truth for point, truth in zip(known, told, strict=True)]
    assert np.mean(right) > 0.9
