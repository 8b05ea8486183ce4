"""Structures by strategies: a system for each cell, placed by two keys of its section of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from eval.reporting import costs
from eval.reporting.figures import bars
from eval.reporting.report_part import Figure, Options, Part, option_at
from eval.reporting.results import Results, halved
from eval.reporting.scores import score
from eval.reporting.tables import Cell, Table, slug


class Grid(Options):
    """What the rows and columns are, and what stands in the cells."""

    rows: str = Field("structure", description="Dotted key in the section of a system; its value is the row.")
    columns: str = Field("strategy", description="Dotted key in the section of a system; its value is the column.")
    metrics: tuple[str, ...] = Field((), description="A table for each that a task has; the main one, if empty.")
    systems: tuple[str, ...] = Field((), description="Those of the grid; all where there are none.")


def part(results: Results, options: Grid) -> Part:
    """For each task and metric a table for the odd half and one for all, a figure, and what each cell costs."""
    tables, figures = [], []
    for task in options.tasks_of(results):
        cells = _cells(results, options, task)
        metrics = options.metrics or (options.metric_of(results, task),)
        for metric in [metric for metric in metrics if metric in results.metrics[task]]:
            for half in ("odd", "all"):
                name = f"grid-{slug(task)}-{slug(metric)}-{half}"
                tables.append(
                    Table(name, f"{task}: {metric}, {half}", _rows(results, options, task, cells, metric, half))
                )
            name = f"grid-{slug(task)}-{slug(metric)}"
            figures.append(Figure(name, f"{task}: {metric}, odd", partial(_draw, results, task, cells, metric)))
        rows = [
            {options.rows: row, options.columns: column, **costs.columns(results.lines[task, system])}
            for row, own in cells.items()
            for column, system in own.items()
        ]
        tables.append(Table(f"grid-{slug(task)}-cost", f"{task}: cost of each cell", rows, costs.NOTE))
    return Part("Structures and strategies", tables, figures, text=costs.SECONDS)


def _cells(results: Results, options: Grid, task: str) -> Mapping[str, Mapping[str, str]]:
    """Row, column, system."""
    found: dict[str, dict[str, str]] = {}
    for system in results.systems[task]:
        if options.systems and system not in options.systems:
            continue
        section = results.section("systems", system)
        row, column = (told(option_at(section, key)) for key in (options.rows, options.columns))
        found.setdefault(row, {})[column] = system
    return found


def told(value: Any) -> str:
    """A value of a configuration as a heading."""
    return " + ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _rows(
    results: Results, options: Grid, task: str, cells: Mapping[str, Mapping[str, str]], metric: str, half: str
) -> list[dict[str, Cell]]:
    columns = list(dict.fromkeys(column for own in cells.values() for column in own))
    rows = []
    for name, own in cells.items():
        row: dict[str, Cell] = {f"{options.rows} \\ {options.columns}": name}
        for column in columns:
            lines = halved(results.lines[task, own[column]], half) if column in own else []
            row[column] = score(lines, metric, results.seed) if lines else None
            row[f"{column}: seconds"] = costs.seconds(lines)
        rows.append(row)
    return rows


def _draw(results: Results, task: str, cells: Mapping[str, Mapping[str, str]], metric: str, path: Path) -> None:
    groups = {
        row: {
            column: score(halved(results.lines[task, system], "odd"), metric, results.seed)
            for column, system in own.items()
        }
        for row, own in cells.items()
    }
    bars(groups, f"{task}, odd samples", metric, path)
