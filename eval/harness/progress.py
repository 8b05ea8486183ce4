"""What rank 0 shows while all ranks work, and at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from eval.harness.raw_lines import Line

_EVERY = 60.0  # seconds between lines where there is no terminal
_LONGEST = 200  # characters of an error that are shown


@dataclass(frozen=True)
class State:
    """Units done, those of them that failed, and the seconds that are left by an estimate, None without one."""

    done: int
    failed: int
    left: float | None

    def __str__(self) -> str:
        told = [f"{self.failed} failed"] if self.failed else []
        return ", ".join([*told, *([] if self.left is None else [f"about {span(self.left)} left"])])


@contextmanager
def shown(console: Console, total: int, state: Callable[[], State]) -> Iterator[None]:
    """A bar over the units of all ranks, or a line a minute in a log."""
    ended = threading.Event()
    watch = _bar if console.is_terminal else _lines
    thread = threading.Thread(target=watch, args=(console, total, state, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _bar(console: Console, total: int, state: Callable[[], State], ended: threading.Event) -> None:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=total)
        while True:
            over = ended.wait(0.5)
            now = state()
            progress.update(bar, completed=now.done, description=str(now))
            if over:
                return


def _lines(console: Console, total: int, state: Callable[[], State], ended: threading.Event) -> None:
    began = time.monotonic()
    while True:
        over = ended.wait(_EVERY)
        now = state()
        told = [f"{now.done} of {total} done", f"{time.monotonic() - began:.0f} s", str(now)]
        console.print(", ".join(filter(None, told)))
        if over:
            return


def span(seconds: float) -> str:
    """To a reader's precision: "1 h 50 min", "12 min", "34 s"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"


def list_failures(console: Console, lines: Sequence[Line]) -> None:
    """A row for each line with an error."""
    table = Table("task", "system", "sample", "error", title=f"{len(lines)} failed")
    for line in lines:
        error = f"{line['error']['type']}: {line['error']['message']}"
        table.add_row(*(escape(line[key]) for key in ("task", "system", "sample")), escape(error[:_LONGEST]))
    console.print(table)
