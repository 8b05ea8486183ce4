"""Maintenance commands: backup, export, import, copy, reembed, reextract, replay, retry, demo."""

from __future__ import annotations

import json as jsonlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Annotated, TextIO

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.messages import flush
from nscma_torch.cli.output import at, check_exists, opened, plain, print_json, say, verdict, warn
from nscma_torch.cli.progress import progress
from nscma_torch.core.database.store_path import is_of, name_of
from nscma_torch.core.errors import EncodingError, StoreAccessError


@o.app.command()
def export(
    target: Annotated[
        str,
        typer.Argument(metavar="FILE", help="JSON lines file to write, or - for stdout."),
    ] = "-",
    *,
    user: Annotated[str | None, typer.Option("--user", help="Only this user; default: the whole store.")] = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Write the store, or one user, as JSON lines."""
    lines, total = 0, None
    lost: list[str] = []
    with opened(store, config) as memory, progress("exporting") as advance:
        if target == "-":
            for lines, line in enumerate(memory.export(user_id=user, report=lost.append)):
                total = total if lines else rows_of(line)
                sys.stdout.write(line + "\n")
                advance(lines, total)
            _report_lost(lost)
            return
        try:
            _refuse_target(Path(target), store)
            with _replacing(Path(target)) as out:
                for lines, line in enumerate(memory.export(user_id=user, report=lost.append), start=1):
                    total = rows_of(line) if lines == 1 else total
                    out.write(line + "\n")
                    advance(lines - 1, total)
        except OSError as error:
            raise StoreAccessError(f"cannot write {target}: {error.strerror}") from error
    if json:
        print_json({"file": target, "lines": lines})
    else:
        say(f"exported {lines} lines to {plain(target)}")
    _report_lost(lost)


def _report_lost(lost: Sequence[str]) -> None:
    """Report the parts of a damaged store that couldn't be exported, and exit with code 1."""
    for told in lost:
        warn(f"warning: {told}")
    if lost:
        raise typer.Exit(1)


def rows_of(first: str) -> int | None:
    """Return the row count in an export's first line, or None if there is none."""
    try:
        rows = jsonlib.loads(first)["rows"]
    except (ValueError, LookupError, TypeError):
        return None
    return rows if isinstance(rows, int) else None


def _refuse_target(target: Path, store: str) -> None:
    """Refuse an export that would overwrite its own store, or a target that isn't a file."""
    if target.exists() and not target.is_file():
        raise StoreAccessError(f"{target} is not a file; name a file, or - for stdout")
    if is_of(store, target):
        raise StoreAccessError(f"{target} belongs to the store itself; name another file")


@contextmanager
def _replacing(target: Path) -> Iterator[TextIO]:
    """Open a new file that only its owner can read; it replaces the target once it is complete and on disk."""
    descriptor, name = tempfile.mkstemp(prefix=f"{target.name}.", suffix=".part", dir=target.parent)  # mode 0600
    part = Path(name)
    if os.name == "posix":
        os.fchmod(descriptor, 0o600)  # whatever the umask took away
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            yield out
            out.flush()
            os.fsync(descriptor)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@o.app.command(name="import")
def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Export to read, or - for stdin; with --from, it may be a folder.")
    ],
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Program that wrote the export: mem0, mempalace, chatgpt, claude, gemini, whatsapp, telegram, slack, "
            "discord, signal.",
            metavar="KIND",
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="User to import for, with --from.", envvar="NSCMA_USER")
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Agent to import for, with --from.")] = None,
    run: Annotated[str | None, typer.Option("--run", help="Run to import for, with --from.")] = None,
    me: Annotated[
        list[str] | None,
        typer.Option("--me", help="Your name in a chat between people, or your id there; several: once each."),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option("--zone", help="Time zone of local times, such as Europe/Berlin; default: UTC. With --from."),
    ] = None,
    dates: Annotated[
        str | None,
        typer.Option("--dates", help="day-first or month-first, where an export with --from does not tell."),
    ] = None,
    infer: Annotated[bool, typer.Option(help="Extract facts from messages that pass the gate, with --from.")] = True,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Import an export into this store, completely or not at all. With --from, import another program's export.

    Importing another program's export a second time changes nothing.
    """
    if kind is not None:
        from nscma_torch.cli.foreign_import import store_export
        from nscma_torch.compat.exports.importing import read_export
        from nscma_torch.core.config import load_config
        from nscma_torch.core.records import Scope

        scope = Scope(o.USER if user is None else user, agent, run)
        left: list[str] = []
        exported = read_export(
            kind,
            Path(file),
            me=me or (),
            zone=zone,
            dates=dates,
            limits=load_config(config).limits,
            report=left.append,
        )
        store_export(kind, exported, left, scope, infer=infer, store=store, config=config, json=json)
        return
    if agent is not None or run is not None or me or zone or dates or not infer:
        raise typer.BadParameter(
            "--agent, --run, --me, --zone, --dates and --no-infer need --from; an export from this program has its own"
        )
    try:
        with (
            nullcontext(sys.stdin) if file == "-" else Path(file).open(encoding="utf-8") as lines,
            opened(store, config, must_exist=False) as memory,
            progress("importing") as advance,
        ):
            first = next(lines, "")
            total = rows_of(first)
            rows = memory.import_(chain([first], lines), progress=lambda done: advance(done, total))
    except OSError as error:
        raise StoreAccessError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise EncodingError(
            f"{file} is not UTF-8 ({error.reason}), so it is not an export; nothing was stored"
        ) from error
    if json:
        print_json({"file": file, "rows": rows})
    else:
        say(f"imported {rows} rows into {plain(name_of(store))}")


@o.app.command()
def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="New file for the backup.")],
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Back up the store in a new file while it is in use, and verify the backup.

    A backup is a store. To restore it, move the old store away and run `nscma backup nscma.db --store BACKUP`.
    """
    with opened(store, config) as memory:
        size = memory.backup(target)
    if json:
        print_json({"file": str(target), "bytes": size})
    else:
        say(f"backed up {size:,} bytes to {plain(str(target))}; the backup is sound")


@o.app.command()
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A store: a file, or postgresql://…")],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="Another store, of either kind; created if it does not exist.")
    ],
    *,
    user: Annotated[str | None, typer.Option("--user", help="Only this user; default: the whole store.")] = None,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Copy a store into another, completely or not at all; each user's digest is compared before the copy is kept."""
    from nscma_torch.core.config import load_config
    from nscma_torch.core.database.opening import open_database
    from nscma_torch.maintenance import copying

    settings = load_config(config).store
    check_exists(source, "FROM")
    with (
        closing(open_database(source, settings)) as from_,
        closing(open_database(target, settings)) as to,
        progress("copying") as advance,
    ):
        users, rows = copying.copy(from_, to, user_id=user, progress=advance)
    if json:
        print_json({"from": name_of(source), "to": name_of(target), "users": users, "rows": rows})
    else:
        of = f"{users} {'user' if users == 1 else 'users'}"
        say(f"copied {rows} rows of {of} into {plain(name_of(target))}; the digests of both are equal")


@o.app.command()
def reembed(store: o.Store = o.STORE, config: o.Config = None, json: o.Json = False) -> None:
    """Recompute all vectors with the configured embedder."""
    with opened(store, config) as memory:
        with progress("embedding") as advance:
            count = memory.reembed(progress=advance)
        fingerprint = memory.components.new_embedder.fingerprint
    if json:
        print_json({"vectors": count, "embedder": fingerprint})
    else:
        say(f"replaced {count} vectors; the store is now bound to {plain(fingerprint)}")


@o.app.command()
def reextract(
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Extract facts again after changing relations, unit kinds or the language model."""
    with opened(store, config) as memory:
        count = memory.reextract(user_id=user, agent_id=agent)
        flush(memory)
    if json:
        print_json({"messages": count})
    else:
        say(f"read {count} {'message' if count == 1 else 'messages'} again")


@o.app.command()
def replay(
    *,
    gate: Annotated[
        Path,
        typer.Option(
            "--gate",
            help="TOML file with a [gate] section that contains the settings to try; missing keys have their defaults.",
        ),
    ],
    apply: Annotated[
        bool, typer.Option("--apply", help="Replace the decisions; by default, nothing is changed.")
    ] = False,
    now: o.Now = None,
    user: o.User = o.USER,
    agent: o.Agent = None,
    run: o.Run = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Repeat the gate's decisions with other settings, and show which ones would change."""
    from nscma_torch.core.config import load_config

    rules = load_config(gate).gate.model_dump()
    with opened(store, config) as memory:
        decided, changed = memory.replay(
            user_id=user, agent_id=agent, run_id=run, gate=rules, dry_run=not apply, now=at(now)
        )
        if apply:
            flush(memory)
    if json:
        entries = [
            {
                "id": item.episode.id,
                "text": item.episode.text,
                "write": item.decision.write,
                "reason": item.decision.reason,
            }
            for item in changed
        ]
        print_json({"decided": decided, "applied": apply, "changed": entries})
        return
    for item in changed:
        say(f"{verdict(item.episode.decision)} → {verdict(item.decision)}  {plain(item.episode.text[:120])}")
        say(f"       [dim]{plain(item.decision.reason)}[/]")
    done = "changed" if apply else "would change (apply with --apply)"
    say(f"{len(changed)} of {decided} decisions {done}")


@o.app.command()
def retry(store: o.Store = o.STORE, config: o.Config = None, json: o.Json = False) -> None:
    """Run failed background jobs again."""
    with opened(store, config) as memory:
        queued = memory.retry_failed()
        flush(memory)
        failed = memory.stats().jobs_failed
    if json:
        print_json({"retried": queued, "failed": failed})
    else:
        say(f"retried {queued} jobs, {failed} failed again")


@o.app.command()
def demo(
    store: Annotated[
        Path | None, typer.Option("--store", help="Keep the demo's store in this new file.", metavar="FILE")
    ] = None,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Store an eight-month conversation, show the gate's decisions, and answer 20 questions."""
    from nscma_torch.demo.show import run_demo

    result = run_demo(store, config, quiet=json)
    if json:
        print_json(result)
