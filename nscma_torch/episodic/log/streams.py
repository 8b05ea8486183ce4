"""Streams: the next position, and the state that the surprise model and the gate carry between messages."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from nscma_torch.core.database import user_versions
from nscma_torch.core.database.schema import streams, users
from nscma_torch.core.jobs import leases
from nscma_torch.core.records import Scope
from nscma_torch.episodic.index import unit_changes

# Statements of every message are made once: making one costs as much as running it.
_BY_ID = select(streams).where(streams.c.id == bindparam("stream_id"))
_VERSION = select(streams.c.version).where(streams.c.id == bindparam("stream_id"))
_UPDATE = streams.update().where(streams.c.id == bindparam("stream_id"))
_TOUCH = (
    users.update()
    .where(users.c.user_id == bindparam("touched"))
    .values(generation=users.c.generation + 1)
    .returning(users.c.generation, users.c.epoch)
)


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream as read from the store. `version` is 0 if it is not stored yet."""

    id: str
    scope: Scope
    source: str | None
    next_position: int = 0
    version: int = 0
    proxy_fingerprint: str | None = None
    proxy_state: bytes | None = None
    gate_state: str | None = None


def derive_id(*parts: object) -> str:
    """Derive an id from its parts as 32 hex digits of SHA-256, so the same input gives the same store."""
    text = "\x1f".join("\x00" if part is None else str(part) for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def stream_id_of(scope: Scope, source: str | None = None) -> str:
    """Return the stream id for this scope and document (None means the conversation), whether stored or not."""
    return derive_id("stream", scope.user_id, scope.agent_id, scope.run_id, source)


def load(connection: Connection, scope: Scope, source: str | None) -> Stream:
    """Load the stream for this scope and document (None means the conversation), or start a new one."""
    stream_id = stream_id_of(scope, source)
    row = connection.execute(_BY_ID, {"stream_id": stream_id}).mappings().first()
    if row is None:
        return Stream(stream_id, scope, source)
    return _from_row(row)


def of_user(connection: Connection, user_id: str) -> list[Stream]:
    """Return all of a user's streams, ordered by id."""
    rows = connection.execute(select(streams).where(streams.c.user_id == user_id).order_by(streams.c.id)).mappings()
    return [_from_row(row) for row in rows]


def _from_row(row: object) -> Stream:
    fields = dict(row)  # type: ignore[call-overload]
    scope = Scope(fields.pop("user_id"), fields.pop("agent_id"), fields.pop("run_id"))
    return Stream(scope=scope, **fields)


def is_stored(connection: Connection, stream_id: str) -> bool:
    """Return True if a stream with this id exists."""
    return connection.execute(_VERSION, {"stream_id": stream_id}).first() is not None


def unmoved(connection: Connection, stream: Stream) -> bool:
    """Return True if the stream has not changed since it was read; call it inside a write transaction
    (compare-and-set).
    """
    current = connection.execute(_VERSION, {"stream_id": stream.id}).scalar()
    return (current or 0) == stream.version


def save(
    connection: Connection,
    stream: Stream,
    *,
    next_position: int,
    proxy_fingerprint: str | None,
    proxy_state: bytes | None,
    gate_state: str | None,
) -> None:
    """Store a stream's state. Call `touch_user` first, because streams refer to users."""
    values = {
        "next_position": next_position,
        "version": stream.version + 1 if stream.version else user_versions.first_version(connection)["generation"],
        "proxy_fingerprint": proxy_fingerprint,
        "proxy_state": proxy_state,
        "gate_state": gate_state,
    }
    if stream.version:
        connection.execute(_UPDATE, {"stream_id": stream.id, **values})
        return
    scope = stream.scope
    owner = {"user_id": scope.user_id, "agent_id": scope.agent_id, "run_id": scope.run_id}
    connection.execute(streams.insert().values(id=stream.id, source=stream.source, **owner, **values))


def touch_user(connection: Connection, user_id: str, *, changed: bool = False) -> tuple[int, int]:
    """Record a write for a user; `changed` means that existing messages were changed or hidden.

    Returns the user's `version` as it will be after this transaction, unless the user is touched again.

    The code that changes units also logs which units it changes; see `unit_changes`.
    """
    epoch = {"epoch": user_versions.new_epoch(connection)} if changed else {}
    touched = connection.execute(_TOUCH, {"touched": user_id, **epoch}).first()
    if touched is None:
        connection.execute(users.insert().values(user_id=user_id, **user_versions.first_version(connection)))
        leases.begin(connection, [user_id])
        begun = user_versions.version(connection, user_id)
        unit_changes.begin(connection, user_id, begun[0])
        return begun
    return touched.generation, touched.epoch
