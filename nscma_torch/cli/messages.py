"""Commands that change memory: add, update, delete, restore, erase."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.ids import full_id
from nscma_torch.cli.output import (
    at,
    opened,
    plain,
    print_json,
    say,
    shown,
    warn,
)
from nscma_torch.cli.progress import jobs_done, progress
from nscma_torch.errors import InvalidInputError

if TYPE_CHECKING:
    from nscma_torch.memory import Memory
    from nscma_torch.records import Added, Message

MemoryId = Annotated[str, typer.Argument(metavar="ID", help="Id of a message as log prints it, or its first 8 digits.")]


@o.app.command()
def add(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Message files (.json, .jsonl), documents (.md, .txt), or -")
    ],
    *,
    text: Annotated[bool, typer.Option("--text", help="Take the arguments as messages, not as files.")] = False,
    role: Annotated[str, typer.Option("--role", help="Who says it, with --text.")] = "user",
    name: Annotated[str | None, typer.Option("--name", help="The speaker's name, with --text.")] = None,
    timestamp: Annotated[str | None, typer.Option("--timestamp", help="When it was said, with --text.")] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="json, jsonl, markdown or text, where the name does not tell.")
    ] = None,
    infer: Annotated[bool, typer.Option(help="Extract facts from what passes the gate.")] = True,
    user: o.User = o.USER,
    agent: o.Agent = None,
    run: o.Run = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Remember messages or documents. The same file twice is a no-op, so an interrupted add can simply be run again."""
    if not text and (name or timestamp or role != "user"):
        raise typer.BadParameter("--role, --name and --timestamp go with --text; in files each message has its own")
    from nscma_torch.cli.json_objects import added_counts, added_object
    from nscma_torch.config import load_config
    from nscma_torch.records import Message

    sources = [] if text else [_source(file, store) for file in files]
    said, limit = at(timestamp), load_config(config).limits.max_message_bytes
    told = (Message(role, content, said, name) for content in files)
    stream = told if text else chain.from_iterable(_messages_of(source, format, limit) for source in sources)
    first = list(islice(stream, 1))  # what cannot be read makes no store
    with opened(store, config, must_exist=False) as memory:
        results: list[Added] = []
        total = (
            sum(len(content.encode(errors="replace")) for content in files)
            if text
            else _text_bytes(sources, format, limit)
        )
        with progress("remembering", total, in_bytes=True) as advance:
            done = 0

            def indexed(size: int) -> None:
                nonlocal done
                done += size
                advance(done)

            stream = chain(first, stream)
            results += memory.add_many(stream, user_id=user, agent_id=agent, run_id=run, infer=infer, progress=indexed)
        flush(memory)
    if json:
        print_json(added_object(results))
        return
    counts = added_counts(results)
    known = f", {counts['known']} known already" if counts["known"] else ""
    decided = f"{counts['written']} written, {counts['deferred']} deferred"
    noun = "message" if counts["added"] == 1 else "messages"
    say(f"added {counts['added']} {noun} to {plain(str(store))}: {decided}{known}")
    if len(results) == 1 and results[0].decision is not None:
        say(f"{results[0].id}  {plain(results[0].decision.reason)}")


def _messages_of(source: Path | BinaryIO, format: str | None, max_message_bytes: int) -> Iterator[Message]:
    """The messages of a file, whose errors say which one it is."""
    from nscma_torch.text.file_readers import read_messages

    try:
        yield from read_messages(source, format=format, max_message_bytes=max_message_bytes)
    except InvalidInputError as error:
        raise InvalidInputError(f"{source if isinstance(source, Path) else 'stdin'}: {error}") from error


def _text_bytes(sources: Sequence[Path | BinaryIO], format: str | None, max_message_bytes: int) -> int | None:
    """Bytes of all messages' texts, by reading the files once more; None for a pipe, or where one is refused."""
    from nscma_torch.text.file_readers import read_messages

    total = 0
    for source in sources:
        if not isinstance(source, Path) or not source.is_file():  # of a pipe, reading takes what there is
            return None
        try:
            for message in read_messages(source, format=format, max_message_bytes=max_message_bytes):
                total += len(message.content.encode())
        except (InvalidInputError, UnicodeEncodeError):  # adding says so, once it comes there
            return None
    return total


def _source(name: str, store: Path) -> Path | BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        there = Path(name).exists()
    except OSError:  # too long a name: a text
        there = False
    if not there:
        raise InvalidInputError(f"there is no file {name}; to add it as a message write: nscma add --text …")
    from nscma_torch.storage import store_path

    if Path(os.path.realpath(name)) in store_path.names(Path(os.path.realpath(store))):
        raise InvalidInputError(f"{name} is a file of the store itself; `nscma import` reads an export of another one")
    return Path(name)


def flush(memory: Memory) -> None:
    """Have the background work done, and say on stderr what failed."""
    with jobs_done("extracting", memory) as advance:
        memory.flush(progress=advance)
    stats = memory.stats()
    for failure in stats.failures:
        counts = f"{stats.jobs_failed} jobs failed and {stats.jobs_queued} wait; `nscma retry` runs them again"
        warn(f"warning: {counts}: {failure}")
    if dropped := stats.language_work.get("ungrounded"):
        warn(f"note: {dropped} readings by {stats.language} were dropped: their texts do not say that")


@o.app.command()
def update(
    memory_id: MemoryId,
    text: Annotated[str, typer.Argument(help="The new text.")],
    user: o.User = o.USER,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Replace a message's text; the old one stays in its history."""
    with opened(store, config) as memory:
        episode = memory.update(full_id(memory, memory_id, user), text, user_id=user)
        flush(memory)
    if json:
        print_json(episode)
    else:
        say(f"updated {episode.id}")


@o.app.command()
def delete(
    memory_id: MemoryId, user: o.User = o.USER, store: o.Store = o.STORE, config: o.Config = None, json: o.Json = False
) -> None:
    """Hide a message from every read; `nscma restore` brings it back."""
    with opened(store, config) as memory:
        memory_id = full_id(memory, memory_id, user)
        changed = memory.delete(memory_id, user_id=user)
        flush(memory)
    _report_change(memory_id, "deleted", changed, json)


@o.app.command()
def restore(
    memory_id: MemoryId, user: o.User = o.USER, store: o.Store = o.STORE, config: o.Config = None, json: o.Json = False
) -> None:
    """Bring a deleted message back."""
    with opened(store, config) as memory:
        memory_id = full_id(memory, memory_id, user)
        changed = memory.restore(memory_id, user_id=user)
        flush(memory)
    _report_change(memory_id, "restored", changed, json)


def _report_change(memory_id: str, done: str, changed: bool, json: bool) -> None:
    if json:
        print_json({"id": memory_id, "event": done, "changed": changed})
    else:
        say(plain(f"{done} {memory_id}" if changed else f"{memory_id} was {done} already"))


@o.app.command()
def erase(
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One message; without it, the whole user.")
    ] = None,
    *,
    skill: Annotated[str | None, typer.Option("--skill", metavar="ID", help="One skill.")] = None,
    user: o.User = o.USER,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Delete a user, one message or one skill for real, and search the files for what went. There is no way back."""
    if memory_id and skill:
        raise typer.BadParameter("give the id of a message or --skill ID, not both")
    with opened(store, config) as memory:
        memory_id = None if memory_id is None else full_id(memory, memory_id, user)
        skill = None if skill is None else full_id(memory, skill, user, "skill")
        what = f"skill {skill}" if skill is not None else "everything" if memory_id is None else f"message {memory_id}"
        what = f"{what} of user {user!r}"
        if not yes:
            typer.confirm(f"Erase {shown(what)} from {shown(str(store))}? There is no way back", abort=True, err=True)
        receipt = memory.erase(user_id=user, memory_id=memory_id, skill_id=skill)
        flush(memory)
    if json:
        print_json(receipt)
        return
    say(f"erased {plain(what)}: {receipt.rows.get('episodes', 0)} messages, {sum(receipt.rows.values())} rows")
    if receipt.rebuilt:
        say(f"recomputed without it: {len(receipt.rebuilt)} streams and hierarchies")
    found = "none found" if receipt.found == 0 else f"[bold red]{receipt.found} fragments still found[/]"
    say(f"searched for its bytes: {found} in {plain(', '.join(receipt.checked))}")
    if receipt.found:
        say("another process has the store open: they go when it closes it")
