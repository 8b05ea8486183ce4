"""What the commands print: text for people through rich, or JSON; progress on stderr for what takes time."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer
from rich.console import Console
from rich.markup import escape

from nscma_torch.records import Added, Answer, Decision, Episode, Hit
from nscma_torch.text.timestamps import parse_timestamp

if TYPE_CHECKING:
    from nscma_torch.memory import Memory

console = Console(highlight=False, soft_wrap=True, emoji=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
_LINE_SECONDS = 5.0  # between two lines of progress


def fail(error: Exception) -> None:
    """Print the one clear error."""
    errors.print(f"[bold red]error:[/] {plain(str(error))}")


def warn(text: str) -> None:
    """A line on stderr, made safe to print."""
    errors.print(plain(text))


def hint_at_others(memory: Memory, user: str) -> None:
    """Say on stderr where nothing can be found of a user: the store is somebody else's."""
    if memory.stats(user_id=user).messages == 0 and (others := memory.stats().users):
        who = "another user has" if others == 1 else f"{others} other users have"
        errors.print(f"[dim]user {plain(repr(user))} has nothing in this store, {who}; name one with --user[/]")


def say(text: str) -> None:
    """A line for people; rich markup is honoured."""
    console.print(text)


def shown(text: str) -> str:
    """Text without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def plain(text: str) -> str:
    """Stored text made safe to print through rich: markup is shown, control characters are not sent to the terminal."""
    return escape(shown(text))


def one_line(text: str, width: int = 160) -> str:
    """The text on one line, cut to `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def print_json(value: Any) -> None:
    """One JSON document on stdout; records become objects, times ISO 8601."""
    sys.stdout.write(json.dumps(jsonable(value), ensure_ascii=False, indent=2) + "\n")


def print_line(value: Any) -> None:
    """One line of JSON on stdout, at once."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def jsonable(value: Any) -> Any:
    """Records and times as what JSON can say."""
    match value:
        case Hit():
            return hit_object(value)
        case Answer():
            return answer_object(value)
        case Episode():
            return episode_object(value)
        case datetime():
            return value.isoformat()
        case Path():
            return str(value)
        case Mapping():
            return {str(key): jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [jsonable(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def hit_object(hit: Hit) -> dict[str, Any]:
    """A hit, flat: `id` is what get, history and erase take; a summary's messages are its `episode_ids`."""
    unit = hit.unit
    return {
        "id": hit.id,
        "text": unit.text,
        "occurred_at": unit.occurred_at.isoformat(),
        "score": hit.score,
        "role": unit.role,
        "name": unit.name,
        "session": unit.session,
        "source": unit.source,
        "kind": unit.kind,
        "unit_id": unit.id,
        "episode_ids": list(unit.episode_ids),
        "metadata": jsonable(unit.metadata),
        **({"parts": dict(hit.parts)} if hit.parts else {}),
    }


def answer_object(answer: Answer) -> dict[str, Any]:
    """An answer with its evidence."""
    evidence = [
        {**hit_object(item.hit), "text": item.text, "start": item.start, "end": item.end, "score": item.score}
        for item in answer.evidence
    ]
    return {
        "answer": answer.text,
        "abstained": answer.abstained,
        "confidence": answer.confidence,
        "evidence": evidence,
        "trace": list(answer.trace),
        "notes": list(answer.notes),
        "usage": jsonable(answer.usage),
    }


def episode_object(episode: Episode) -> dict[str, Any]:
    """A message with the gate's decision, `write` and `reason` at the top."""
    fields = {field.name: jsonable(getattr(episode, field.name)) for field in dataclasses.fields(episode)}
    decision = episode.decision
    fields["write"] = None if decision is None else decision.write
    fields["reason"] = None if decision is None else decision.reason
    return fields


def verdict(decision: Decision | None) -> str:
    """'write' or 'defer', coloured."""
    if decision is None:
        return "[dim]-[/]"
    return "[green]write[/]" if decision.write else "[yellow]defer[/]"


def added_object(results: list[Added]) -> dict[str, Any]:
    """Counts of an add, and each message's id with its decision."""
    return {**added_counts(results), "results": jsonable(results)}


def added_counts(results: list[Added]) -> dict[str, int]:
    """How many were added, written, deferred (neither without the gate), and known already."""
    new = [item for item in results if item.event == "ADD"]
    written = sum(item.decision is not None and item.decision.write for item in new)
    return {
        "added": len(new),
        "written": written,
        "deferred": sum(item.decision is not None and not item.decision.write for item in new),
        "known": len(results) - len(new),
    }


def at(now: str | None) -> datetime | None:
    """The time of a `--now` or `--as-of` option."""
    return None if now is None else parse_timestamp(now)


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


@contextmanager
def opened(store: Path, config: Path | None, *, must_exist: bool = True) -> Iterator[Memory]:
    """The memory, closed at the end. A store that is only read must be there already."""
    from nscma_torch.memory import Memory
    from nscma_torch.storage import store_path

    if must_exist and not store_path.exists(store):
        missing = f"there is no store at {shown(str(store))}; `nscma add FILE` makes one"
        raise typer.BadParameter(missing, param_hint="--store")
    with Memory(store, config=config) as memory:
        yield memory
