"""How far a long job has come, on stderr: on a terminal a live line, else a line now and then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import typer

from nscma_torch.cli.output import errors

_LINE_SECONDS = 5.0  # between two lines of progress


class Advance(Protocol):
    """Moves a progress bar."""

    def __call__(self, completed: int, total: int | None = None) -> None: ...


@contextmanager
def progress(title: str, total: int | None = None, *, in_bytes: bool = False) -> Iterator[Advance]:
    """How far work has come, on stderr: on a terminal a bar, gone when done; else a line every `_LINE_SECONDS`.

    The last known total holds; with one there is an estimate of the time left.
    """
    if not errors.is_terminal:
        yield _Lines(title, total, in_bytes)
        return
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    count = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(title, total=total)

        def advance(completed: int, total: int | None = None) -> None:
            bar.update(task, completed=completed, total=total)

        yield advance


class _Lines:
    """Progress where no bar can be drawn: plain lines, the first of them after `_LINE_SECONDS`."""

    def __init__(self, title: str, total: int | None, in_bytes: bool) -> None:
        self._title, self._total, self._in_bytes = title, total, in_bytes
        self._began = self._told = time.monotonic()

    def __call__(self, completed: int, total: int | None = None) -> None:
        self._total = total or self._total
        now = time.monotonic()
        if now - self._told < _LINE_SECONDS:
            return
        self._told = now
        line = f"{self._title}: {self._amount(completed)}"
        if self._total:
            line += f" of {self._amount(self._total)}"
            if completed:
                left = (now - self._began) * max(self._total - completed, 0) / completed
                line += f", about {left:.0f} s left"
        typer.echo(line, err=True)

    def _amount(self, number: int) -> str:
        return f"{number / 1000:,.0f} kB" if self._in_bytes else f"{number:,}"
