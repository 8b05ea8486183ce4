"""Update the stored messages of a file before its new messages are added.

A message that is still in the file stays unchanged. An edited message gets the new text, and its history keeps the old
text. A section removed from a document is hidden, and restored if it returns. Lines dropped from the beginning or end
of a message file stay stored, because logs are rotated.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import clock
from nscma_torch.core.database.clock import optional_micros
from nscma_torch.core.records import Message, Scope
from nscma_torch.episodic.log import file_rows
from nscma_torch.episodic.log.episodes import text_hash
from nscma_torch.episodic.log.file_rows import GONE, FileRow
from nscma_torch.text.files.file_keys import LINE, place_of, without_place
from nscma_torch.text.terms import terms

T = TypeVar("T")
Reads = Callable[[Path], Iterator[Message]]
_DAY = 86_400_000_000  # microseconds
_ALIKE = 0.5  # share of the terms of the longer text that an edit leaves
_MOST_PLACES = 8  # files that begin with the same message, which are compared with one that is new


@dataclass(frozen=True, slots=True)
class Revised:
    """The ids of the messages that were changed."""

    updated: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    """A file's messages by key: the keys in order, and the line numbers of a document's sections."""

    place: str
    keys: Sequence[str]
    lines: Mapping[str, int]
    first: str
    texts: Mapping[str, list[str]]  # keys by hash of the text
    document: bool


def revise(memory: Memory, path: Path, read: Reads, *, user_id: str) -> Revised:
    """Update, hide and restore a file's stored messages. Its new messages must be added afterwards.

    `read` returns the file's messages with their keys, as `read_messages` does.
    """
    user, at = Scope(user_id).user_id, clock(None)
    file = _file(path, read)
    rows = _stored(memory, user, file, path)
    if not rows:
        return Revised()
    wanted = set(file.keys)
    back = [row.id for row in rows if row.hidden and row.key in wanted]
    active = [row for row in rows if row.active]
    gone = [row for row in active if row.key not in wanted]
    known = {row.key for row in rows}
    fresh: dict[str, Message] = {}
    if gone and not wanted <= known:
        fresh = {one.idempotency_key: one for one in read(path) if one.idempotency_key not in known}  # type: ignore[misc]
    pairs, lost = changes(active, file.keys, fresh, document=file.document)
    editor = memory.components.editor
    for row, key in pairs:
        message = fresh[key]
        text = None if message.content == row.text else message.content
        memory.update(row.id, text, user_id=user, metadata=message.metadata, now=at)
        _set_keys(memory, user, {row.seq: key})
    if lost:
        editor.delete(user, [row.id for row in lost], at=at, reason=GONE)
    if back:
        editor.restore(user, back, at=at)
    moved = {row.seq: file.lines[row.key] for row in rows if file.lines.get(row.key, row.line) != row.line}
    if moved:
        with memory.components.database.write(user) as connection:
            file_rows.set_lines(connection, user, moved)
    return Revised(tuple(row.id for row, _ in pairs), tuple(row.id for row in lost), tuple(back))


def changes(
    active: Sequence[FileRow], keys: Sequence[str], fresh: Mapping[str, Message], *, document: bool
) -> tuple[list[tuple[FileRow, str]], list[FileRow]]:
    """Return the stored messages with the keys of their replacements, and the messages that have no replacement.

    A message replaces another if both have the same neighbours. At the beginning and end of a message file, where lines
    are dropped and added, they must also have similar texts or the same time of day.
    """
    kept = {row.key for row in active} & set(keys)
    old_gaps, old_closed = _gaps(active, [row.key for row in active], kept)
    new_gaps, new_closed = _gaps(keys, keys, kept)
    pairs: list[tuple[FileRow, str]] = []
    lost: list[FileRow] = []
    left: list[FileRow] = []
    used: set[str] = set()
    for before, olds in old_gaps.items():
        inside = before is not None and before in old_closed and before in new_closed
        news = [key for key in new_gaps.get(before, ()) if key in fresh]
        if before is None and before in new_closed:  # lines are dropped from the beginning: compare from the end
            olds, news = olds[::-1], news[::-1]
        found = _matched([row for row in olds if inside or document or _timed(row)], news, fresh, sure=True)
        left_over = set(news) - {key for _, key in found}
        found += _matched(_without(olds, found), [key for key in news if key in left_over], fresh, sure=False)
        pairs += found
        used |= {key for _, key in found}
        rest = _without(olds, found)
        if inside or document:
            lost += rest
        else:
            left += rest
    again = _matched(lost + left, [key for key in keys if key in fresh and key not in used], fresh, sure=False)
    return pairs + again, _without(lost, again)


def _without(rows: Iterable[FileRow], pairs: Iterable[tuple[FileRow, str]]) -> list[FileRow]:
    paired = {row.seq for row, _ in pairs}
    return [row for row in rows if row.seq not in paired]


def _gaps(items: Sequence[T], keys: Sequence[str], kept: set[str]) -> tuple[dict[str | None, list[T]], set[str | None]]:
    """Group the items that aren't kept by the kept key before them; also return the keys before which a gap is
    closed.
    """
    gaps: dict[str | None, list[T]] = defaultdict(list)
    closed: set[str | None] = set()
    before: str | None = None
    for item, key in zip(items, keys, strict=True):
        if key in kept:
            closed.add(before)
            before = key
        else:
            gaps[before].append(item)
    return gaps, closed


def _matched(
    olds: Iterable[FileRow], news: Iterable[str], fresh: Mapping[str, Message], *, sure: bool
) -> list[tuple[FileRow, str]]:
    """Pair messages with the same speaker, conversation and time, in order; unless `sure`, their texts must also be
    similar.
    """
    waiting: dict[tuple[object, ...], deque[str]] = defaultdict(deque)
    for key in news:
        one = fresh[key]
        waiting[one.role, one.name, one.session, optional_micros(one.timestamp)].append(key)
    pairs = []
    for row in olds:
        queue = waiting[row.about]
        if queue and (sure or _alike(row.text, fresh[queue[0]].content)):
            pairs.append((row, queue.popleft()))
    return pairs


def _timed(row: FileRow) -> bool:
    """Return True if the message has a time of day."""
    at = row.about[-1]
    return isinstance(at, int) and at % _DAY != 0


def _alike(one: str, other: str) -> bool:
    first, second = set(terms(one)), set(terms(other))
    return len(first & second) >= _ALIKE * max(len(first), len(second), 1)


def _file(path: Path, read: Reads) -> _File:
    place = place_of(path)
    keys: list[str] = []
    lines: dict[str, int] = {}
    texts: dict[str, list[str]] = defaultdict(list)
    first, document = "", False
    for message in read(path):
        key = message.idempotency_key
        if key is None or not key.startswith(place):
            continue
        if not keys:
            first, document = text_hash(message.content), message.source is not None
        if document:
            lines[key] = message.metadata[LINE]
        texts[text_hash(message.content)].append(key)
        keys.append(key)
    return _File(place, keys, lines, first, texts, document)


def _stored(memory: Memory, user: str, file: _File, path: Path) -> list[FileRow]:
    """Return the file's stored messages, found by its path or else by its earlier name or key format."""
    if not file.keys:
        return []
    with memory.components.database.read(user) as connection:
        rows = file_rows.of_place(connection, user, file.place)
        if rows:
            return rows
        for place in file_rows.places_with(connection, user, file.first)[:_MOST_PLACES]:
            rows = file_rows.of_place(connection, user, place)
            if {without_place(row.key) for row in rows if row.active} == {without_place(key) for key in file.keys}:
                moved = {row.seq: file.place + row.key.removeprefix(place) for row in rows}
                break
        else:
            moved = _renamed(file_rows.of_place(connection, user, f"{_sha256(path)}:"), file)
    if not moved:
        return []
    _set_keys(memory, user, moved)
    with memory.components.database.read(user) as connection:
        return file_rows.of_place(connection, user, file.place)


def _renamed(rows: Sequence[FileRow], file: _File) -> dict[int, str]:
    """Return new keys, by row number, for messages whose old keys were derived from a hash of the same file."""
    waiting = {text: deque(keys) for text, keys in file.texts.items()}
    named: dict[int, str] = {}
    for row in sorted(rows, key=lambda row: row.seq):
        keys = waiting.get(text_hash(row.text))
        if keys:
            named[row.seq] = keys.popleft()
    return named


def _set_keys(memory: Memory, user: str, keys: Mapping[int, str]) -> None:
    with memory.components.database.write(user) as connection:
        file_rows.set_keys(connection, user, keys)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
