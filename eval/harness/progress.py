"""What rank 0 shows while all ranks work, and at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from eval.harness.raw_lines import Line

_EVERY = 60.0  # seconds between lines where there is no terminal
_LONGEST = 200  # characters of an error that are shown


@contextmanager
def shown(console: Console, total: int, counts: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """A bar over the units of all ranks, or a line a minute in a log; `counts` gives those done and those failed."""
    ended = threading.Event()
    watch = _bar if console.is_terminal else _lines
    thread = threading.Thread(target=watch, args=(console, total, counts, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _bar(console: Console, total: int, counts: Callable[[], tuple[int, int]], ended: threading.Event) -> None:
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        bar = progress.add_task("", total=total)
        while True:
            over = ended.wait(0.5)
            done, failures = counts()
            progress.update(bar, completed=done, description=f"{failures} failed" if failures else "")
            if over:
                return


def _lines(console: Console, total: int, counts: Callable[[], tuple[int, int]], ended: threading.Event) -> None:
    began = time.monotonic()
    while True:
        over = ended.wait(_EVERY)
        done, failures = counts()
        console.print(f"{done} of {total} done, {failures} failed, {time.monotonic() - began:.0f} s")
        if over:
            return


def list_failures(console: Console, lines: Sequence[Line]) -> None:
    """A row for each line with an error."""
    table = Table("task", "system", "sample", "error", title=f"{len(lines)} failed")
    for line in lines:
        error = f"{line['error']['type']}: {line['error']['message']}"
        table.add_row(*(escape(line[key]) for key in ("task", "system", "sample")), escape(error[:_LONGEST]))
    console.print(table)
