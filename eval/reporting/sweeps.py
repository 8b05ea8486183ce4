"""Sensitivity: a score against a number in the configuration, such as K, R, T, N, or how much noise a task has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import Field

from eval.reporting import costs
from eval.reporting.bootstrap import Interval
from eval.reporting.figures import Line as Curve
from eval.reporting.figures import Panel, curves
from eval.reporting.report_part import Figure, Options, Part, known, option_at
from eval.reporting.results import Results, halved
from eval.reporting.scores import score
from eval.reporting.tables import Cell, Shown, Table, slug
from nscma_torch.core.config import Section
from nscma_torch.core.errors import ConfigError


class Sweep(Section):
    """One number that is varied."""

    label: str = Field(min_length=1, description="What it is, for the axis.")
    over: Literal["systems", "tasks"] = Field("systems", description="Which sections it stands in.")
    key: str = Field(min_length=1, description="Dotted key of the number in these sections.")
    lines: Mapping[str, tuple[str, ...]] = Field(
        description="For each curve the names of its systems; over tasks the names of its tasks, a curve per system."
    )
    metrics: tuple[str, ...] = Field((), description="In place of those of all sweeps.")


class Sweeps(Options):
    """All sweeps of a run."""

    metrics: tuple[str, ...] = Field((), description="Those that a task has are drawn; its main one, if empty.")
    sweeps: tuple[Sweep, ...] = Field((), description="In order.")


_Point = tuple[float, str, str]  # x, task, system


def part(results: Results, options: Sweeps) -> Part:
    """A table and a figure for each sweep and metric."""
    tables, figures = [], []
    for sweep in options.sweeps:
        for group, lines in _groups(results, options, sweep).items():
            first = next(point for points in lines.values() for point in points)
            metrics = sweep.metrics or options.metrics or (options.metric_of(results, first[1]),)
            for metric in [metric for metric in metrics if metric in results.metrics[first[1]]]:
                name = f"sweep-{slug(sweep.label)}-{slug(group)}-{slug(metric)}"
                title = f"{group}: {metric} by {sweep.label}"
                tables.append(Table(name, title, _rows(results, sweep, lines, metric), costs.NOTE))
                figures.append(Figure(name, title, partial(_draw, results, sweep, lines, metric, title)))
    return Part("Sensitivity", tables, figures)


def _groups(results: Results, options: Sweeps, sweep: Sweep) -> dict[str, dict[str, list[_Point]]]:
    """For each picture its curves; over systems a picture for each task, over tasks one for each line of tasks."""
    found: dict[str, dict[str, list[_Point]]] = {}
    for label, names in sweep.lines.items():
        if sweep.over == "tasks":
            for task in names:
                known(task, results.tasks, "task")
                for system in results.systems[task]:
                    found.setdefault(label, {}).setdefault(system, []).append((_x(results, sweep, task), task, system))
            continue
        for task in options.tasks_of(results):
            for system in names:
                if system in results.systems[task]:
                    known_as = found.setdefault(task, {}).setdefault(label, [])
                    known_as.append((_x(results, sweep, system), task, system))
    if not found:
        raise ConfigError(f"[report] sweeps over {sweep.label!r}, and no system or task that it names was run")
    return {group: {label: sorted(own) for label, own in lines.items()} for group, lines in found.items()}


def _x(results: Results, sweep: Sweep, name: str) -> float:
    value = option_at(results.section(sweep.over, name), sweep.key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"{sweep.key} of {name!r} is {value!r}, and a sweep needs a number")
    return float(value)


def _scored(results: Results, point: _Point, metric: str, half: str) -> Interval:
    _, task, system = point
    return score(halved(results.lines[task, system], half), metric, results.seed)


def _rows(results: Results, sweep: Sweep, lines: Mapping[str, Sequence[_Point]], metric: str) -> list[dict[str, Cell]]:
    rows = []
    for label, points in lines.items():
        for point in points:
            row: dict[str, Cell] = {"line": label, sweep.label: Shown(point[0], f"{point[0]:g}")}
            row |= {f"{metric}, {half}": _scored(results, point, metric, half) for half in ("odd", "all")}
            rows.append(row | costs.columns(results.lines[point[1], point[2]]))
    return rows


def _draw(
    results: Results, sweep: Sweep, lines: Mapping[str, Sequence[_Point]], metric: str, title: str, path: Path
) -> None:
    panels = []
    for half in ("odd", "all"):
        drawn = {
            label: Curve([point[0] for point in points], [_scored(results, point, metric, half) for point in points])
            for label, points in lines.items()
        }
        panels.append(Panel(f"{half} samples", sweep.label, metric, drawn))
    curves(panels, title, path)
