"""eval.experiments.reading.calibration: the constants of a logistic model come back, and every set weighs the same."""

from __future__ import annotations

import random

import numpy as np

from eval.experiments.reading.calibration import Point, fitted


def drawn(rng: random.Random, count: int, constants: tuple[float, float, float, float]) -> list[Point]:
    found = []
    for _ in range(count):
        row = [rng.gauss(0, 2), rng.gauss(0, 1), rng.gauss(0, 1)]
        share = 1 / (1 + np.exp(-(np.array(constants) @ [1.0, *row])))
        found.append(Point(*row, rng.random() < share))
    return found


def test_the_constants_come_back() -> None:
    own = drawn(random.Random(0), 20_000, (0.5, 1.2, -0.7, -2.0))
    assert np.allclose(fitted([own]), (0.5, 1.2, -0.7, -2.0), atol=0.1)


def test_a_large_set_does_not_outweigh_a_small_one() -> None:
    rng = random.Random(1)
    yes = [Point(rng.gauss(0, 1), 0.0, 0.0, True) for _ in range(5000)]
    no = [Point(rng.gauss(0, 1), 0.0, 0.0, False) for _ in range(50)]
    assert abs(fitted([yes, no])[0]) < 0.5
