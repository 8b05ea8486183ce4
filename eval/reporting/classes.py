"""F1 of the positive and of the negative class, for tasks whose questions have one of four outcomes (FABLES)."""

from __future__ import annotations

from collections.abc import Sequence

from eval.metrics.answer_metrics import f1_of_classes
from eval.reporting import costs
from eval.reporting.bootstrap import Interval
from eval.reporting.metric_directions import OUTCOMES
from eval.reporting.report_part import Part
from eval.reporting.results import HALVES, Line, Results, halved
from eval.reporting.scores import of_means
from eval.reporting.tables import Cell, Table, slug

_CLASSES = ("F1_P", "F1_N")


def part(results: Results) -> Part | None:
    """A table for each task that has the outcomes; None where none has."""
    tables = []
    for task in results.tasks:
        if not set(OUTCOMES) <= set(results.metrics[task]):
            continue
        rows = []
        for system in results.systems[task]:
            lines = results.lines[task, system]
            row: dict[str, Cell] = {"system": system}
            for number, name in enumerate(_CLASSES):
                row |= {f"{name}, {half}": _f1(halved(lines, half), number, results.seed) for half in HALVES}
            rows.append(row | costs.columns(lines))
        tables.append(Table(f"classes-{slug(task)}", f"{task}: F1 of each class", rows, _NOTE))
    return Part("F1 of classes", tables) if tables else None


_NOTE = (
    f"F1_P of the positive class, F1_N of the negative one, from the means of {', '.join(OUTCOMES)} over questions; "
    f"the intervals are percentiles of bootstrap draws of the four together. {costs.NOTE}"
)


def _f1(lines: Sequence[Line], number: int, seed: int) -> Interval:
    return of_means(lines, OUTCOMES, lambda *means: f1_of_classes(*means)[number], seed)
