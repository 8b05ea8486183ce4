"""The threshold: as few retrievals as the bound on wrong answers allows."""

from __future__ import annotations

import random

import pytest

from nscma_torch.controller.calibration import LabelledTrace, at_threshold, choose_threshold
from nscma_torch.errors import InvalidInputError

TRACES = [
    LabelledTrace(0.1, True, True),
    LabelledTrace(0.2, True, False),
    LabelledTrace(0.3, False, True),
    LabelledTrace(0.4, True, True),
    LabelledTrace(0.9, False, False),
]


def test_it_saves_most_within_the_bound() -> None:
    chosen = choose_threshold(TRACES, most_wrong=0.0)
    assert (chosen.threshold, chosen.saved, chosen.wrong, chosen.right) == (0.2, 0.4, 0.0, 0.8)
    chosen = choose_threshold(TRACES, most_wrong=0.2)
    assert (chosen.threshold, chosen.saved, chosen.wrong) == (0.9, 1.0, 0.2)


def test_where_nothing_keeps_the_bound_it_always_retrieves() -> None:
    chosen = choose_threshold([LabelledTrace(0.0, False, True)], most_wrong=0.5)
    assert (chosen.threshold, chosen.saved, chosen.right) == (0.0, 0.0, 1.0)


def test_no_other_threshold_saves_more() -> None:
    rng = random.Random(1)
    for _ in range(50):
        traces = [LabelledTrace(rng.randint(0, 9) / 9, rng.random() < 0.5, rng.random() < 0.8) for _ in range(20)]
        chosen = choose_threshold(traces, most_wrong=0.15)
        others = [at_threshold(traces, i / 90) for i in range(91)]
        assert chosen.wrong <= 0.15
        assert chosen.saved == max(one.saved for one in others if one.wrong <= 0.15)


def test_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="no labelled traces"):
        choose_threshold([])
    with pytest.raises(InvalidInputError, match="most_wrong"):
        choose_threshold(TRACES, most_wrong=1.5)
