"""Show the progress of a long operation on stderr: a live line on a terminal, otherwise occasional lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import typer
from rich.filesize import decimal
from rich.text import Text

from nscma_torch.cli.output import errors

_LINE_SECONDS = 5.0  # between two lines of progress


class Advance(Protocol):
    """A function that advances a progress bar."""

    def __call__(self, completed: int, total: int | None = None) -> None: ...


@contextmanager
def progress(title: str, total: int | None = None, *, in_bytes: bool = False) -> Iterator[Advance]:
    """Show progress and rate: on a terminal, a bar that is removed when done; otherwise a line every `_LINE_SECONDS`.

    The latest total is used; if it is known, the remaining time is estimated.
    """
    if not errors.is_terminal:
        yield _Lines(title, total, in_bytes)
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        Task,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    class Rate(TransferSpeedColumn):
        """A progress column that shows items per second."""

        def render(self, task: Task) -> Text:
            return super().render(task) if in_bytes else Text("" if task.speed is None else _rate(task.speed, in_bytes))

    count = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, Rate(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(title, total=total)

        def advance(completed: int, total: int | None = None) -> None:
            bar.update(task, completed=completed, total=total)

        yield advance


@contextmanager
def jobs_done(title: str, memory: Any) -> Iterator[Callable[[int], None]]:
    """Show the progress of background jobs; the total is the number of jobs queued now.

    `memory` is a `Memory` or a `ServedMemory`.
    """
    with progress(title) as advance:
        yield lambda done: advance(done, done + memory.stats().jobs_queued)


class _Lines:
    """Progress without a terminal, as plain lines; the first is printed after `_LINE_SECONDS`."""

    def __init__(self, title: str, total: int | None, in_bytes: bool) -> None:
        self._title, self._total, self._in_bytes = title, total, in_bytes
        self._began = self._told = time.monotonic()

    def __call__(self, completed: int, total: int | None = None) -> None:
        self._total = total or self._total
        now = time.monotonic()
        if now - self._told < _LINE_SECONDS:
            return
        self._told = now
        line = f"{self._title}: {_amount(completed, self._in_bytes)}"
        if self._total:
            line += f" of {_amount(self._total, self._in_bytes)}"
        rate = completed / max(now - self._began, 1e-9)
        line += f", {_rate(rate, self._in_bytes)}"
        if self._total and rate:
            line += f", about {max(self._total - completed, 0) / rate:.0f} s left"
        typer.echo(line, err=True)


def _amount(number: float, in_bytes: bool) -> str:
    return decimal(round(number)) if in_bytes else f"{number:,.0f}"


def _rate(number: float, in_bytes: bool) -> str:
    """Format a rate per second, or per minute if it is slow."""
    if not in_bytes and 0 < number < 1:
        return f"{60 * number:.1f}/min"
    return f"{_amount(number, in_bytes)}/s"
