"""eval.experiments.reading.calibration: the constants of a logistic model come back, and every set weighs the same."""

from __future__ import annotations

import random

import numpy as np

from eval.experiments.reading.calibration import Point, fitted, table


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


def test_the_table_tells_what_a_threshold_does() -> None:
    own = [Point(read, 0.0, 0.0, held) for held in (True, False) for read in (3.0, -3.0)]
    printed = table("made up", own, np.array([0.0, 1.0, 0.0, 0.0]))
    cells = [list(column.cells) for column in printed.columns]
    half = cells[0].index("0.50")
    assert (cells[1][half], cells[2][half]) == ("0.500", "0.500") and "AUC 0.500" in str(printed.caption)
