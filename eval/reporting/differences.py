"""What each system scores less than one of them: ablations (NSCMA's Table 2) and variants, with latency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pydantic import Field

from eval.reporting import costs
from eval.reporting.bootstrap import LEVEL, Interval, holm
from eval.reporting.figures import bars
from eval.reporting.metric_directions import better
from eval.reporting.report_part import Figure, Options, Part, known
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
    "which nothing was tuned on, leaves out 0, and still does by Holm's correction over all differences of this table "
    f"(bootstrap p below {1 - LEVEL:.2f}); “not shown” is no proof that there is no difference. Where questions were "
    f"drawn in the place of samples (†), nothing is said of other samples. Latency is to read a sample and ask one "
    f"question of it, asking is that question alone. {costs.NOTE}"
)


def _rows(results: Results, task: str, metric: str, reference: str) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    odd: list[Interval | None] = []
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
        row |= {"shown": None}
        odd.append(apart.get("odd"))
        rows.append(row | _latency(lines, base) | costs.columns(lines))
    tested = [math.nan if one is None or one.of_questions else one.p for one in odd]
    for row, one, p in zip(rows, odd, holm(tested), strict=True):
        row["shown"] = None if one is None else verdict(one, p, metric, reference)
    return rows


def verdict(apart: Interval, p: float, metric: str, reference: str) -> str:
    """What a difference to the reference shows, with its p after correction."""
    if apart.failed:
        return "failed"
    if apart.drawn < 2 or apart.of_questions:
        return "too few samples"
    if apart.low <= 0 <= apart.high or p >= 1 - LEVEL:
        return "not shown"
    return f"{'better' if better(metric, apart.value) else 'worse'} than {reference}"


def _latency(lines: Sequence[Line], base: Sequence[Line]) -> dict[str, Cell]:
    """Seconds to read a sample and ask one question of it, and those to ask alone, as multiples of the reference's."""
    own, other = costs.expense(lines), costs.expense(base)
    if own is None or other is None:
        return {"times the latency": None, "times the asking": None}
    whole = own.read_seconds + own.ask_seconds, other.read_seconds + other.ask_seconds
    return {"times the latency": _times(*whole), "times the asking": _times(own.ask_seconds, other.ask_seconds)}


def _times(own: float, other: float) -> Cell:
    return Shown(own / other, f"{own / other:.2f}") if other else None


def _draw(results: Results, task: str, metric: str, path: Path) -> None:
    groups = {
        system: {
            half: score(halved(results.lines[task, system], half), metric, results.seed) for half in ("odd", "all")
        }
        for system in results.systems[task]
    }
    bars(groups, task, metric, path)
