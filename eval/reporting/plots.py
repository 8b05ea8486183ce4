"""Plots of a table as SVG inside a page, in the page's colours: scores with intervals, and scores against cost.

matplotlib's SVG has colours of its own, which a dark page cannot change, and text too small for a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from eval.reporting.board import Row
from eval.reporting.bootstrap import Interval
from eval.reporting.markup import Element, element

_WIDTH = 420.0
_LEFT, _RIGHT = 36.0, 14.0
_STEP = 40.0  # height of a system's part of the first plot
_HEIGHT = 260.0  # of the second plot's axes
_TOP, _BOTTOM = 12.0, 40.0
_TICKS = 5


def scores(rows: Sequence[Row], metric: str) -> Element:
    """A line for each system, its name above: the odd half filled, all samples hollow, both with their intervals."""
    found = [value for row in rows for value in row.scores.values() if value.drawn]
    low, high = _range([bound for value in found for bound in _bounds(value)])
    height = _TOP + _STEP * len(rows) + _BOTTOM
    ends = height - _BOTTOM

    def x(value: float) -> float:
        return 8 + (_WIDTH - 16 - _RIGHT) * (value - low) / (high - low)

    parts = []
    for tick in _ticks(low, high):
        parts += [element("line", x1=x(tick), x2=x(tick), y1=_TOP, y2=ends, class_="grid")]
        parts += [_text(x(tick), ends + 14, _number(tick), "middle", "tick")]
    for number, row in enumerate(rows):
        top = _TOP + _STEP * number
        parts.append(_text(8, top + 11, f"{number + 1}  {row.entry.label}", "start", "name"))
        for half, y in (("odd", top + 21), ("all", top + 29)):
            value = row.scores[half]
            if value.drawn:
                below, above = _bounds(value)
                parts.append(element("line", x1=x(below), x2=x(above), y1=y, y2=y, class_=f"bar {half}"))
                parts.append(_dot(x(value.value), y, half, f"{row.entry.label}, {half}: {value}"))
    parts.append(_text(8, ends + 32, f"{metric}; odd half filled, all samples hollow", "start", "tick"))
    return _svg(height, f"{metric} of each system with its 95 % interval", parts)


def against(rows: Sequence[Row], metric: str, costs: Sequence[float | None], label: str) -> Element | None:
    """The score that rows are ordered by against a cost, by their numbers; None where fewer than two have both."""
    shown = [
        (number, row, cost)
        for number, (row, cost) in enumerate(zip(rows, costs, strict=True), start=1)
        if row.main.drawn and cost is not None and cost > 0
    ]
    if len(shown) < 2:
        return None
    low, high = _range([bound for _, row, _ in shown for bound in _bounds(row.main)])
    least, most = (edge(math.log10(cost) for _, _, cost in shown) for edge in (min, max))
    least, most = least - 0.08 * (most - least) - 0.05, most + 0.08 * (most - least) + 0.05
    ends = _TOP + _HEIGHT

    def x(cost: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (math.log10(cost) - least) / (most - least)

    def y(value: float) -> float:
        return ends - _HEIGHT * (value - low) / (high - low)

    parts = []
    for tick in _ticks(low, high):
        parts += [element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y(tick), y2=y(tick), class_="grid")]
        parts += [_text(_LEFT - 6, y(tick) + 4, _number(tick), "end", "tick")]
    for cost in _log_ticks(10**least, 10**most):
        parts += [element("line", x1=x(cost), x2=x(cost), y1=_TOP, y2=ends, class_="grid")]
        parts += [_text(x(cost), ends + 14, f"{cost:g}", "middle", "tick")]
    places: list[tuple[float, float]] = []
    for number, row, cost in shown:
        below, above = _bounds(row.main)
        parts.append(element("line", x1=x(cost), x2=x(cost), y1=y(below), y2=y(above), class_="bar faint"))
        parts.append(_dot(x(cost), y(row.main.value), "odd", f"{row.entry.label}: {row.main}; {cost:.4g}"))
        places.append(_free(x(cost) + 6, y(row.main.value) - 5, places))
        parts.append(_text(*places[-1], str(number), "start", "name"))
    parts.append(_text(_LEFT, ends + 32, f"{label}, logarithmic", "start", "tick"))
    return _svg(ends + _BOTTOM, f"{metric} against {label}", parts)


def _svg(height: float, title: str, parts: Sequence[Element]) -> Element:
    return element("svg", parts, viewBox=f"0 0 {_WIDTH:g} {height:g}", role="img", aria_label=title)


def _text(x: float, y: float, text: str, anchor: str, kind: str) -> Element:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=kind)


def _dot(x: float, y: float, kind: str, told: str) -> Element:
    return element("circle", element("title", told), cx=x, cy=y, r=3.5, class_=kind)


def _bounds(value: Interval) -> tuple[float, float]:
    return (value.value, value.value) if math.isnan(value.low) else (value.low, value.high)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """With some room; all metrics are in [0, 1]."""
    if not values:
        return 0.0, 1.0
    room = max(0.01, 0.06 * (max(values) - min(values)))
    return min(values) - room, max(values) + room


def _ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / _TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, with 2 and 5 between them where they are few, or even steps where these are."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1,) if len(powers) > 4 else (1, 2, 5)
    found = [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high]
    return found if len(found) > 2 else _ticks(low, high)


def _free(x: float, y: float, taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """A place for a number, above those that it would hide."""
    while any(abs(x - other) < 14 and abs(y - beside) < 11 for other, beside in taken):
        y -= 11
    return x, y


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"
