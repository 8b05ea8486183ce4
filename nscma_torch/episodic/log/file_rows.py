"""Messages that come from one file, found by their idempotency keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, select

from nscma_torch.core.database.database import pages
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.database.schema import episodes, history
from nscma_torch.episodic.log import streams
from nscma_torch.text.files.file_keys import LINE, place_in
from nscma_torch.text.files.json_messages import metadata_json

GONE = "its file does not hold it any more"  # reason of a DELETE


@dataclass(frozen=True, slots=True)
class FileRow:
    """A stored message from a file. `hidden` is True if it was deleted because the file no longer contains it."""

    seq: int
    id: str
    key: str
    about: tuple[object, ...]  # role, name, session and microseconds, which an update keeps
    text: str
    line: int
    active: bool
    hidden: bool


def of_place(connection: Connection, user_id: str, beginning: str) -> list[FileRow]:
    """Return a user's messages whose keys have this prefix, in file order where known."""
    c = episodes.c
    columns = (c.seq, c.id, c.idempotency_key, c.role, c.name, c.session, c.occurred_at, c.text, c.metadata, c.status)
    query = select(*columns)
    query = query.where(c.user_id == user_id, func.substr(c.idempotency_key, 1, len(beginning)) == beginning)
    rows = connection.execute(query.order_by(c.seq)).all()
    gone = _gone(connection, user_id) if any(row.status != "active" for row in rows) else set()
    found = [
        FileRow(
            row.seq, row.id, row.idempotency_key, (row.role, row.name, row.session, row.occurred_at), row.text,
            _line(row.metadata), row.status == "active", row.status != "active" and row.seq in gone,
        )
        for row in rows
    ]  # fmt: skip
    return sorted(found, key=lambda row: row.line)


def places_with(connection: Connection, user_id: str, text_hash: str) -> list[str]:
    """Return the places in the user's files that contain an active message with this text."""
    c = episodes.c
    query = select(c.idempotency_key).where(c.user_id == user_id, c.text_hash == text_hash, c.status == "active")
    places = (place_in(key) for key in connection.execute(query.order_by(c.seq)).scalars())
    return list(dict.fromkeys(place for place in places if place is not None))


def set_keys(connection: Connection, user_id: str, keys: Mapping[int, str]) -> None:
    """Change the keys of messages, given by row number."""
    _set(connection, user_id, "idempotency_key", keys)


def set_lines(connection: Connection, user_id: str, lines: Mapping[int, int]) -> None:
    """Record the current location of a document's sections."""
    texts: dict[int, str] = {}
    for some in pages(sorted(lines)):
        query = select(episodes.c.seq, episodes.c.metadata).where(episodes.c.seq.in_(some))
        for row in connection.execute(query):
            texts[row.seq] = metadata_json({**decoded(row.metadata), LINE: lines[row.seq]})
    _set(connection, user_id, "metadata", texts)


def _set(connection: Connection, user_id: str, column: str, values: Mapping[int, str]) -> None:
    if not values:
        return
    update = episodes.update().where(episodes.c.seq == bindparam("changed")).values({column: bindparam("value")})
    connection.execute(update, [{"changed": seq, "value": value} for seq, value in values.items()])
    streams.touch_user(connection, user_id, changed=True)


def _gone(connection: Connection, user_id: str) -> set[int]:
    """Return the row numbers of the messages that were last deleted because they vanished from their file."""
    h = history.c
    query = select(h.episode_seq, h.reason).where(h.user_id == user_id, h.event == "DELETE").order_by(h.seq)
    last: dict[int, str | None] = {row.episode_seq: row.reason for row in connection.execute(query)}
    return {seq for seq, reason in last.items() if reason == GONE}


def _line(metadata: str) -> int:
    line = decoded(metadata).get(LINE)
    return line if isinstance(line, int) else 0
