"""What each system scores less than one of them: ablations (NSCMA's Table 2) and variants, with latency."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pydantic import Field

from eval.reporting import costs
from eval.reporting.bootstrap import Interval
from eval.reporting.figures import bars
from eval.reporting.part import Figure, Options, Part, known
from eval.reporting.results import HALVES, Line, Results, halved
from eval.reporting.scores import difference, score
from eval.reporting.tables import Cell, Shown, Table, slug


class Differences(Options):
    """Every system against one."""

    reference: str = Field("", description="Name of the system that the others are compared with; the first, if empty.")
    metrics: tuple[str, ...] = Field((), description="Of each task that has them; its main one where there are none.")


def part(results: Results, options: Differences) -> Part:
    """A table and a figure for each task and metric."""
    tables, figures = [], []
    for task in options.tasks_of(results):
        reference = options.reference or results.systems[task][0]
        known(reference, results.systems[task], f"system of {task}")
        wanted = options.metrics or (options.metric_of(results, task),)
        for metric in [metric for metric in wanted if metric in results.metrics[task]]:
            name = f"differences-{slug(task)}-{slug(metric)}"
            rows = _rows(results, task, metric, reference)
            tables.append(Table(name, f"{task}: {metric}, each system less {reference}", rows, _NOTE))
            figures.append(Figure(name, f"{task}: {metric}", partial(_draw, results, task, metric)))
    return Part("Differences", tables, figures)


_NOTE = (
    "Differences are paired: the same samples for both. “Worse” and “better” say that the interval of the odd half, "
    f"which nothing was tuned on, leaves out 0; else no difference is shown. {costs.NOTE}"
)


def _rows(results: Results, task: str, metric: str, reference: str) -> list[dict[str, Cell]]:
    rows = []
    base = results.lines[task, reference]
    for system in sorted(results.systems[task], key=lambda name: name != reference):
        lines = results.lines[task, system]
        row: dict[str, Cell] = {"system": system}
        row |= {f"{metric}, {half}": score(halved(lines, half), metric, results.seed) for half in ("odd", "all")}
        apart: dict[str, Interval] = {}
        if system != reference:
            for half in HALVES:
                apart[half] = difference(halved(lines, half), halved(base, half), metric, results.seed)
        row |= {f"difference, {half}": apart.get(half) for half in HALVES}
        row |= {"shown": verdict(apart["odd"], reference) if apart else None}
        rows.append(row | {"times the latency": _latency(lines, base)} | costs.columns(lines))
    return rows


def verdict(apart: Interval, reference: str) -> str:
    """What the interval of a difference to the reference shows."""
    if apart.drawn < 2:
        return "too few questions"
    if apart.high < 0:
        return f"worse than {reference}"
    return f"better than {reference}" if apart.low > 0 else "no difference"


def _latency(lines: Sequence[Line], base: Sequence[Line]) -> Cell:
    """Seconds to read a sample and ask one question of it, as a multiple of the reference's."""
    own, other = costs.expense(lines), costs.expense(base)
    if own is None or other is None or other.read_seconds + other.ask_seconds == 0:
        return None
    ratio = (own.read_seconds + own.ask_seconds) / (other.read_seconds + other.ask_seconds)
    return Shown(ratio, f"{ratio:.2f}")


def _draw(results: Results, task: str, metric: str, path: Path) -> None:
    groups = {
        system: {
            half: score(halved(results.lines[task, system], half), metric, results.seed) for half in ("odd", "all")
        }
        for system in results.systems[task]
    }
    bars(groups, task, metric, path)
