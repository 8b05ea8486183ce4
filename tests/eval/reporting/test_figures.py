"""Bars of many systems lie below each other, so that a figure can be read whatever it holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.image import imread

from eval.reporting.bootstrap import Interval
from eval.reporting.figures import bars


@pytest.mark.parametrize(("systems", "lying"), [(3, False), (25, True)])
def test_many_bars_lie_best_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, systems: int, lying: bool) -> None:
    named: dict[str, list[str]] = {}
    for axis in ("x", "y"):
        own = f"set_{axis}ticks"
        set_ticks = getattr(Axes, own)

        def kept(self: Axes, places: object, labels: list[str], own: str = own, call: object = set_ticks) -> None:
            named[own] = labels
            assert callable(call)
            call(self, places, labels)

        monkeypatch.setattr(Axes, own, kept)
    values = {f"system {i}": Interval((i * 7 % systems) / systems, 0.0, 1.0, 5, 5, 5) for i in range(systems)}
    bars({name: {"odd": value, "all": value} for name, value in values.items()}, "a task", "F1", tmp_path / "bars.png")
    height, width = imread(tmp_path / "bars.png").shape[:2]
    best_first = sorted(values, key=lambda name: -values[name].value)
    assert named == ({"set_yticks": best_first} if lying else {"set_xticks": list(values)})
    assert (height > width) == lying and width < 2000
