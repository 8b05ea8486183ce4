"""Print command output, as rich text or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from nscma_torch.core.database.store_path import exists, name_of
from nscma_torch.text.calendar.timestamps import parse_timestamp

if TYPE_CHECKING:
    from nscma_torch.api.memory import Memory
    from nscma_torch.cli.served_memory import ServedMemory
    from nscma_torch.core.records import Decision

console = Console(highlight=False, soft_wrap=True, emoji=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def fail(error: Exception) -> None:
    """Print an error on stderr."""
    errors.print(f"[bold red]error:[/] {plain(str(error))}")


def warn(text: str) -> None:
    """Print a line on stderr, made safe for the terminal."""
    errors.print(plain(text))


def hint_at_others(memory: Memory | ServedMemory, user: str) -> None:
    """Print a hint on stderr if the store has no messages from this user, but messages from others."""
    if memory.stats(user_id=user).messages == 0 and (others := memory.stats().users):
        who = "another user has" if others == 1 else f"{others} other users have"
        errors.print(f"[dim]user {plain(repr(user))} has nothing in this store, {who}; name one with --user[/]")


def say(text: str) -> None:
    """Print a line of text with rich markup."""
    console.print(text)


def shown(text: str) -> str:
    """Remove control characters, which a terminal would interpret."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def plain(text: str) -> str:
    """Make stored text safe to print through rich: escape markup, remove control characters."""
    return escape(shown(text))


def one_line(text: str, width: int = 160) -> str:
    """Join a text's lines into one line, cut to `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def print_json(value: Any) -> None:
    """Print one JSON document on stdout; records become objects, and times become ISO 8601 strings."""
    from nscma_torch.cli.json_objects import jsonable

    sys.stdout.write(json.dumps(jsonable(value), ensure_ascii=False, indent=2) + "\n")


def print_line(value: Any) -> None:
    """Print one line of JSON on stdout, unbuffered."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def verdict(decision: Decision | None) -> str:
    """Format a decision as 'write' or 'defer' in colour."""
    if decision is None:
        return "[dim]-[/]"
    return "[green]write[/]" if decision.write else "[yellow]defer[/]"


def at(now: str | None) -> datetime | None:
    """Parse the time given for `--now` or `--as-of`."""
    return None if now is None else parse_timestamp(now)


def check_exists(store: str, option: str = "--store") -> None:
    """Raise an error if the store given by an option or argument doesn't exist."""
    if not exists(store):
        missing = f"there is no store at {shown(name_of(store))}; `nscma add FILE` creates one"
        raise typer.BadParameter(missing, param_hint=option)


@contextmanager
def opened(store: str, config: Path | None, *, must_exist: bool = True) -> Iterator[Memory]:
    """Open the memory, and close it at the end. With `must_exist`, a missing store is an error."""
    from nscma_torch.api.memory import Memory
    from nscma_torch.cli.warm_process.loaded import models_for

    if must_exist:
        check_exists(store)
    with Memory(store, config=config, **models_for(config)) as memory:
        yield memory
