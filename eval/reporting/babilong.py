"""BABILong by length: NSCMA's Table 1, what longer texts cost in accuracy, and how work and store grow with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from eval.reporting import costs
from eval.reporting.bootstrap import Interval
from eval.reporting.figures import Line as Curve
from eval.reporting.figures import Panel, curves
from eval.reporting.part import Figure, Options, Part
from eval.reporting.results import HALVES, Line, Results, halved
from eval.reporting.scores import categories_of, difference, score
from eval.reporting.tables import Cell, Shown, Table


class Babilong(Options):
    """Each task of the run is one length."""

    categories: tuple[str, ...] = Field(("qa1", "qa2", "qa3"), description="Of the mean; the others stand beside it.")


def part(results: Results, options: Babilong) -> Part:
    """Tables and figures over the tasks, shortest text first."""
    tasks = sorted(options.tasks_of(results), key=lambda task: _size(results, task))
    systems = list(dict.fromkeys(system for task in tasks for system in results.systems[task]))
    metric = options.metric_of(results, tasks[0])
    mean_of = ", ".join(options.categories)
    pivot = _pivot(results, options, tasks, systems)
    gaps = any(isinstance(cell, Interval) and not cell.drawn for row in pivot for cell in row.values())
    tables = [
        Table("babilong", f"{metric} by length, mean of {mean_of}", pivot, _NONE if gaps else ""),
        Table("babilong-tasks", f"{metric} by length and task", _long(results, options, tasks, systems), costs.NOTE),
    ]
    if falls := _falls(results, options, tasks, systems):
        tables.append(
            Table("babilong-difference", f"From {tasks[0]} to longer texts: mean of {mean_of}", falls, _FALLS)
        )
    if len(tasks) > 1:
        tables.append(Table("babilong-growth", "Growth with the text", _growth(results, tasks, systems), _GROWTH))
    figures = [
        Figure("babilong", f"{metric} by length", partial(_draw_scores, results, options, tasks, systems)),
        Figure("babilong-cost", "Cost by length", partial(_draw_costs, results, tasks, systems)),
    ]
    return Part("BABILong by length", tables, figures)


_NONE = "–: of that length there is no sample of one of them, or none for that system."
_FALLS = (
    "The long text's mean less the short one's, over questions that both ask (the same sample, question and answer): "
    "each differs in the text around it alone."
)
_GROWTH = (
    "The exponent e of cost ~ size^e, by least squares on the logarithms over all lengths; 1 is linear, and 0 does not "
    "grow. Size is bytes of text read."
)


def _size(results: Results, task: str) -> float:
    """Mean bytes of what one sample has to read."""
    lines = [line for system in results.systems[task] for line in results.lines[task, system] if line.error is None]
    return sum(line.bytes for line in lines) / max(1, len(lines))


def _of(results: Results, task: str, system: str) -> Sequence[Line]:
    return results.lines.get((task, system), ())


def _scored(results: Results, options: Babilong, task: str, system: str, half: str) -> Interval:
    lines = halved(_of(results, task, system), half)
    return score(lines, options.metric_of(results, task), results.seed, options.categories)


def _pivot(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str]) -> list[dict[str, Cell]]:
    """The paper's table: a row for each system and half, a column for each length."""
    return [
        {"system": system, "half": half, **{task: _scored(results, options, task, system, half) for task in tasks}}
        for half in ("odd", "all", "even")
        for system in systems
    ]


def _long(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str]) -> list[dict[str, Cell]]:
    every = categories_of([line for task in tasks for system in systems for line in _of(results, task, system)])
    rows = []
    for task in tasks:
        for system in results.systems[task]:
            lines = _of(results, task, system)
            row: dict[str, Cell] = {"length": task, "system": system}
            row |= {f"mean, {half}": _scored(results, options, task, system, half) for half in HALVES}
            metric = options.metric_of(results, task)
            row |= {f"{own or '(none)'}, all": score(lines, metric, results.seed, (own,)) for own in every}
            rows.append(row | costs.columns(lines))
    return rows


def _falls(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str]) -> list[dict[str, Cell]]:
    """From a system's shortest text to each longer one; a row only where both ask some of all categories."""
    rows = []
    metric = options.metric_of(results, tasks[0])
    for system in systems:
        first, *longer = [task for task in tasks if _of(results, task, system)] or [""]
        for task in longer:
            short, long = _same(_of(results, first, system), _of(results, task, system))
            asked = {question.category for line in short for question in line.questions}
            if asked.issuperset(options.categories):
                row: dict[str, Cell] = {"system": system, "from": first, "to": task}
                for half in HALVES:
                    pair = halved(long, half), halved(short, half)
                    row[f"difference, {half}"] = difference(*pair, metric, results.seed, options.categories)
                rows.append(row)
    return rows


def _same(short: Sequence[Line], long: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The lines that ask the same in both."""
    asked = {line.sample: [(q.question, tuple(q.answers)) for q in line.questions] for line in long}
    shared = {s.sample for s in short if asked.get(s.sample) == [(q.question, tuple(q.answers)) for q in s.questions]}
    return [line for line in short if line.sample in shared], [line for line in long if line.sample in shared]


_MEASURES = {"read s": "seconds to read", "ask s": "seconds to ask", "store MB": "store, MB"}


def _grown(results: Results, tasks: Sequence[str], system: str, measure: str) -> list[tuple[float, float]]:
    """(bytes read, cost) of each length where the cost is above 0."""
    found = []
    for task in tasks:
        lines = _of(results, task, system)
        cell = costs.columns(lines)[measure] if lines else None
        if isinstance(cell, Shown) and cell.value > 0:
            found.append((_size(results, task), cell.value))
    return found


def _growth(results: Results, tasks: Sequence[str], systems: Sequence[str]) -> list[dict[str, Cell]]:
    rows = []
    for system in systems:
        row: dict[str, Cell] = {"system": system}
        for measure, told in _MEASURES.items():
            points = _grown(results, tasks, system, measure)
            slope = _slope([(math.log(x), math.log(y)) for x, y in points])
            row[told] = None if slope is None else Shown(slope, f"{slope:.2f}")
        rows.append(row)
    return rows


def _slope(points: Sequence[tuple[float, float]]) -> float | None:
    """Of the least squares line; None where all x are the same."""
    if not points:
        return None
    middle = [sum(values) / len(points) for values in zip(*points, strict=True)]
    spread = sum((x - middle[0]) ** 2 for x, _ in points)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in points) / spread if spread else None


def _ticks(results: Results, tasks: Sequence[str]) -> list[tuple[float, str]]:
    return [(_size(results, task), task.split()[-1]) for task in tasks]


def _draw_scores(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str], path: Path) -> None:
    panels = []
    for half in ("odd", "all"):
        lines = {}
        for system in systems:
            have = [task for task in tasks if _of(results, task, system)]
            values = [_scored(results, options, task, system, half) for task in have]
            points = [(_size(results, task), v) for task, v in zip(have, values, strict=True) if v.samples]
            if points:
                lines[system] = Curve(*cast(Any, zip(*points, strict=True)))
        label = f"{options.metric_of(results, tasks[0])}, mean of {', '.join(options.categories)}"
        common: dict[str, Any] = {"ticks": _ticks(results, tasks), "log_x": True, "share": True}
        panels.append(Panel(f"{half} samples", "length of the text", label, lines, **common))
    curves(panels, "BABILong", path)


def _draw_costs(results: Results, tasks: Sequence[str], systems: Sequence[str], path: Path) -> None:
    panels = []
    for measure, told in _MEASURES.items():
        lines = {}
        for system in systems:
            if points := _grown(results, tasks, system, measure):
                lines[system] = Curve(*cast(Any, zip(*points, strict=True)))
        ticks = _ticks(results, tasks)
        panels.append(Panel(told, "length of the text", told, lines, ticks=ticks, log_x=True, log_y=True))
    curves(panels, "Cost of a sample by length", path)
