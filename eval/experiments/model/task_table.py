"""The table of language tasks: requests, valid replies, retries, failures, tokens and seconds for each reply form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from rich.table import Table

from eval.experiments.model.recording_engine import RecordedRequest


@dataclass(frozen=True, slots=True)
class TaskRow:
    """Counts for one reply form.

    Attributes:
        requests: forms requested, without retries.
        valid: forms that the first reply filled.
        retries: second requests after an unusable reply.
        failed: forms that no reply filled.
        tokens_in, tokens_out: mean per reply, retries included.
        seconds: total.
    """

    task: str
    requests: int
    valid: int
    retries: int
    failed: int
    tokens_in: float
    tokens_out: float
    seconds: float


def task_rows(records: Sequence[RecordedRequest]) -> list[TaskRow]:
    """Return a row for each reply form, in order of first use."""
    tasks = dict.fromkeys(record.task for record in records)
    return [_row(task, [record for record in records if record.task == task]) for task in tasks]


def task_table(records: Sequence[RecordedRequest]) -> Table:
    """Lay out the rows, with a last row for all forms together."""
    table = Table(title="language tasks", title_justify="left")
    table.add_column("reply form")
    for name in ("requests", "valid at first", "retries", "failed", "tokens in", "tokens out", "s each", "s"):
        table.add_column(name, justify="right")
    for row in task_rows(records):
        table.add_row(*_cells(row))
    table.add_section()
    table.add_row(*_cells(_row("all", records)))
    return table


def _row(task: str, records: Sequence[RecordedRequest]) -> TaskRow:
    first = [record for record in records if not record.retry]
    replies = [record for record in records if record.tokens_in]
    return TaskRow(
        task,
        len(first),
        sum(record.valid for record in first),
        len(records) - len(first),
        sum(record.final for record in records),
        mean(record.tokens_in for record in replies) if replies else 0.0,
        mean(record.tokens_out for record in replies) if replies else 0.0,
        sum(record.seconds for record in records),
    )


def _cells(row: TaskRow) -> list[str]:
    sent = row.requests + row.retries
    counts = (row.requests, row.valid, row.retries, row.failed, round(row.tokens_in), round(row.tokens_out))
    return [row.task, *map(str, counts), f"{row.seconds / sent if sent else 0:.1f}", f"{row.seconds:.0f}"]
