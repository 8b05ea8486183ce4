"""NSCMA's Figure 3: after an update, how often a system gives the current value, and how often an outdated one."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pydantic import Field

from eval.reporting import costs
from eval.reporting.bootstrap import Interval
from eval.reporting.figures import bars
from eval.reporting.report_part import Figure, Options, Part, known
from eval.reporting.results import HALVES, Results, halved
from eval.reporting.scores import score
from eval.reporting.tables import Cell, Table, slug


class Updates(Options):
    """Which metrics of the tasks tell of updates."""

    current: str = Field("updated", description="Metric: the reply gives the value that holds now.")
    outdated: str = Field("outdated", description="Metric: the reply gives a value that held before.")
    categories: tuple[str, ...] = Field((), description="Of questions that ask for it; all where there are none.")


def part(results: Results, options: Updates) -> Part:
    """A table and a figure for each task that has both metrics."""
    tables, figures = [], []
    tasks = options.tasks_of(results)
    having = [task for task in tasks if {options.current, options.outdated} <= set(results.metrics[task])]
    if not having:
        known(options.current, results.metrics[tasks[0]], f"metric of {tasks[0]}")
        known(options.outdated, results.metrics[tasks[0]], f"metric of {tasks[0]}")
    for task in having:
        rows = []
        for system in results.systems[task]:
            row: dict[str, Cell] = {"system": system}
            for half in HALVES:
                row |= {f"{name}, {half}": value for name, value in _pair(results, options, task, system, half).items()}
            rows.append(row | costs.columns(results.lines[task, system]))
        name = f"updates-{slug(task)}"
        tables.append(Table(name, f"{task}: current and outdated values given", rows))
        for half in ("odd", "all"):
            title = f"{task}: knowledge update, {half}"
            figures.append(Figure(f"{name}-{half}", title, partial(_draw, results, options, task, half)))
    return Part("Knowledge update", tables, figures, text=costs.NOTE)


def _pair(results: Results, options: Updates, task: str, system: str, half: str) -> dict[str, Interval]:
    lines = halved(results.lines[task, system], half)
    told = {"current": options.current, "outdated": options.outdated}
    return {name: score(lines, metric, results.seed, options.categories) for name, metric in told.items()}


def _draw(results: Results, options: Updates, task: str, half: str, path: Path) -> None:
    groups = {system: _pair(results, options, task, system, half) for system in results.systems[task]}
    bars(groups, f"{task}, {half} samples", "share of questions", path)
