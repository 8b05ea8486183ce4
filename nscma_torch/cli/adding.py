"""The `add` command, which stores messages and documents."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.messages import dropped, flush
from nscma_torch.cli.output import at, opened, plain, print_json, say
from nscma_torch.cli.progress import progress
from nscma_torch.cli.running_server import through
from nscma_torch.core.database.store_path import exists, is_of, name_of
from nscma_torch.core.errors import InvalidInputError

if TYPE_CHECKING:
    from nscma_torch.core.records import Added, Message


@o.app.command()
def add(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Message files, documents, folders, or -; see --format.")
    ],
    *,
    text: Annotated[bool, typer.Option("--text", help="Treat the arguments as messages, not files.")] = False,
    role: Annotated[str, typer.Option("--role", help="Role of the speaker, with --text.")] = "user",
    name: Annotated[str | None, typer.Option("--name", help="Name of the speaker, with --text.")] = None,
    timestamp: Annotated[str | None, typer.Option("--timestamp", help="Time it was said, with --text.")] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="json, jsonl, markdown, text, pdf, docx, html, epub, csv, email, mbox or subtitles; needed if the "
            "file name does not show it.",
        ),
    ] = None,
    infer: Annotated[bool, typer.Option(help="Extract facts from messages that pass the gate.")] = True,
    user: o.User = o.USER,
    agent: o.Agent = None,
    run: o.Run = None,
    token: o.Token = None,
    no_server: o.NoServer = False,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Store messages or documents. If a file was added before, only new content is added, and edited parts replace old
    ones.

    Adding the same file twice changes nothing, so an interrupted add can be repeated.
    """
    if not text and (name or timestamp or role != "user"):
        raise typer.BadParameter("--role, --name and --timestamp need --text; in a file, each message has its own")
    from nscma_torch.cli.json_objects import added_counts, added_object
    from nscma_torch.cli.served_memory import UnstoredMessages
    from nscma_torch.core.records import Message

    sources = [] if text else [source for file in files for source in _sources(file, store)]
    said, limit = at(timestamp), _max_bytes(config)
    told = (Message(role, content, said, name or None) for content in files)
    stream = told if text else chain.from_iterable(_messages_of(source, format, limit) for source in sources)
    first = list(islice(stream, 1))  # what cannot be read makes no store
    waiting = UnstoredMessages(chain(first, stream))
    updated, hidden = _revised(sources, format, limit, user, store, config)
    results: list[Added] = []
    indexed = 0

    def store_all(memory: Any) -> None:
        known = dropped(memory, user)
        total = (
            sum(len(content.encode(errors="replace")) for content in files)
            if text
            else _text_bytes(sources, format, limit)
        )
        with progress("remembering", total, in_bytes=True) as advance:

            def more(size: int) -> None:
                nonlocal indexed
                indexed += size
                advance(indexed)

            results.extend(
                memory.add_many(waiting, user_id=user, agent_id=agent, run_id=run, infer=infer, progress=more)
            )
        flush(memory, known)

    through(store_all, store, config, token=token, no_server=no_server, must_exist=False)
    if json:
        print_json(added_object(results, updated=updated, hidden=hidden))
        return
    counts = added_counts(results, updated=updated, hidden=hidden)
    names = (
        ("known", "known already"),
        ("updated", "updated"),
        ("hidden", "hidden, as their files no longer contain them"),
    )
    known = "".join(f", {counts[name]} {told}" for name, told in names if counts[name])
    decided = f"{counts['written']} written, {counts['deferred']} deferred"
    noun = "message" if counts["added"] == 1 else "messages"
    say(f"added {counts['added']} {noun} to {plain(name_of(store))}: {decided}{known}")
    if asked := [memory_id for one in results for memory_id in one.hidden]:
        say(f"hidden, as asked: {' '.join(asked)}; `nscma restore ID` brings one back")
    if masked := Counter(kind for one in results for kind in one.masked):
        say(f"masked: {', '.join(f'{count} {plain(kind)}' for kind, count in masked.items())}")
    if len(results) == 1 and results[0].decision is not None:
        say(f"{results[0].id}  {plain(results[0].decision.reason)}")


def _revised(
    sources: Sequence[Path | BinaryIO], format: str | None, limit: int, user: str, store: str, config: Path | None
) -> tuple[int, int]:
    """Update the stored messages from these files; return how many were updated and how many hidden."""
    files = [source for source in sources if isinstance(source, Path) and source.is_file()]
    if not files or not exists(store):
        return 0, 0
    from nscma_torch.api.file_revisions import revise

    with opened(store, config) as memory:
        revised = [revise(memory, path, lambda path: _messages_of(path, format, limit), user_id=user) for path in files]
    return sum(len(one.updated) for one in revised), sum(len(one.hidden) for one in revised)


def _max_bytes(config: Path | None) -> int:
    """Return the configured maximum size of a message in bytes."""
    from nscma_torch.core.config import load_config

    return load_config(config).limits.max_message_bytes


def _messages_of(source: Path | BinaryIO, format: str | None, max_message_bytes: int) -> Iterator[Message]:
    """Yield the messages in a file; errors name the file."""
    from nscma_torch.text.files.file_readers import read_messages

    try:
        yield from read_messages(source, format=format, max_message_bytes=max_message_bytes)
    except InvalidInputError as error:
        raise InvalidInputError(f"{source if isinstance(source, Path) else 'stdin'}: {error}") from error


def _text_bytes(sources: Sequence[Path | BinaryIO], format: str | None, max_message_bytes: int) -> int | None:
    """Return the total bytes of all messages' texts by reading the files in advance; None for a pipe or an invalid
    file.
    """
    from nscma_torch.text.files.file_readers import read_messages

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


def _sources(name: str, store: str) -> list[Path | BinaryIO]:
    """Return what a name stands for: stdin, a file, or the files of a folder that can be read, in order.

    Files and folders that begin with a dot, such as .git and .obsidian, are left out, and so are files of other types.
    """
    if name == "-":
        return [sys.stdin.buffer]
    folder = _source(name, store)
    if not folder.is_dir():
        return [folder]
    from nscma_torch.text.files.file_readers import SUFFIXES

    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not is_of(store, path)
    ]
    if not files:
        raise InvalidInputError(f"{name} contains no file of type {', '.join(SUFFIXES)}")
    return list(files)


def _source(name: str, store: str) -> Path:
    try:
        there = Path(name).exists()
    except OSError:  # too long a name: a text
        there = False
    if not there:
        raise InvalidInputError(f"there is no file {name}; to add it as a message, run: nscma add --text …")
    if is_of(store, name):
        raise InvalidInputError(
            f"{name} belongs to the store itself; `nscma import` reads an export from another store"
        )
    return Path(name)
