"""Paged access to the log, for browsing; a page begins next to a message given by id."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, func, select

from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.schema import episodes, streams
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.records import Episode, Scope
from nscma_torch.episodic.log import episodes as log
from nscma_torch.episodic.log.turns import load

_E = episodes.c
_OPENING = 160  # characters


@dataclass(frozen=True, slots=True)
class LogPage:
    """Messages in the order they were stored; the page starts after `skipped` out of `total` messages."""

    items: Sequence[Episode]
    skipped: int
    total: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session of a conversation, or a document: its size, and the time of its last addition.

    `first` is the id of its first message, `source` is the document's name, and `deferred` is the number of deferred
    messages.
    """

    first: str
    scope: Scope
    source: str | None
    session: str | None
    messages: int
    deferred: int
    last_at: datetime
    opening: str


class _Place(NamedTuple):
    seq: int
    stream_id: str
    session: str | None


def messages(
    connection: Connection,
    scope: Scope,
    *,
    limit: int,
    of: str | None = None,
    deferred: bool | None = None,
    before: str | None = None,
    after: str | None = None,
    at: str | None = None,
) -> LogPage:
    """Return at most `limit` messages in a scope, including deleted ones: either the newest, or those next to a
    message.

    Args:
        of: id of a message; return only messages from its conversation (and session) or document.
        deferred: return only messages that the gate deferred (True) or wrote (False).
        before, after: id of the message right after, or right before, the page.
        at: id of the message in the middle of the page.

    Raises `NotFoundError` if the user has no message with that id.
    """
    clauses = [log.within(scope)]
    if of is not None:
        one = _row(connection, scope, of)
        clauses += [_E.stream_id == one.stream_id, _E.session.is_not_distinct_from(one.session)]
    if deferred is not None:
        clauses.append(log.decided(not deferred))
    if before is not None:
        seqs = _next_to(connection, clauses, _E.seq < _row(connection, scope, before).seq, limit, newest=True)
    elif after is not None:
        seqs = _next_to(connection, clauses, _E.seq > _row(connection, scope, after).seq, limit, newest=False)
    elif at is not None:
        middle = _row(connection, scope, at).seq
        later = _next_to(connection, clauses, _E.seq >= middle, (limit + 1) // 2, newest=False)
        seqs = _next_to(connection, clauses, _E.seq < middle, limit - len(later), newest=True) + later
    else:
        seqs = _next_to(connection, clauses, _E.seq > -1, limit, newest=True)
    total = _count(connection, clauses)
    skipped = _count(connection, [*clauses, _E.seq < seqs[0]]) if seqs else 0
    return LogPage(_loaded(connection, scope.user_id, seqs), skipped, total)


def conversations(connection: Connection, scope: Scope, *, limit: int, offset: int) -> tuple[list[Conversation], int]:
    """Return the conversations and documents in a scope, latest addition first, and their number."""
    grouped = (
        select(
            _E.session,
            func.count().label("messages"),
            func.count().filter(_E.write.is_(False)).label("deferred"),
            func.max(_E.recorded_at).label("last"),
            func.min(_E.seq).label("first"),
            func.max(_E.seq).label("newest"),
        )
        .where(log.within(scope))
        .group_by(_E.stream_id, _E.session)
        .subquery()
    )
    total = connection.execute(select(func.count()).select_from(grouped)).scalar_one()
    query = (
        select(grouped, _E.id, _E.agent_id, _E.run_id, _E.text, streams.c.source)
        .join(episodes, _E.seq == grouped.c.first)
        .join(streams, streams.c.id == _E.stream_id)
        .order_by(grouped.c.newest.desc())
    )
    found = [
        Conversation(
            first=row.id,
            scope=Scope(scope.user_id, row.agent_id, row.run_id),
            source=row.source,
            session=row.session,
            messages=row.messages,
            deferred=row.deferred,
            last_at=from_micros(row.last),
            opening=row.text[:_OPENING],
        )
        for row in connection.execute(query.limit(limit).offset(offset))
    ]
    return found, total


def agents(connection: Connection, user_id: str, *, limit: int) -> list[str]:
    """Return the agents that a user has talked to, ordered by name."""
    query = select(streams.c.agent_id).where(streams.c.user_id == user_id, streams.c.agent_id.is_not(None))
    return list(connection.execute(query.distinct().order_by(streams.c.agent_id).limit(limit)).scalars())


def _row(connection: Connection, scope: Scope, episode_id: str) -> _Place:
    query = select(_E.seq, _E.stream_id, _E.session).where(_E.user_id == scope.user_id, _E.id == episode_id)
    found = connection.execute(query).first()
    if found is None:
        raise NotFoundError(f"user {scope.user_id!r} has no message with id {episode_id!r}; start at the newest page")
    return _Place(*found)


def _next_to(
    connection: Connection,
    clauses: Collection[ColumnElement[bool]],
    side: ColumnElement[bool],
    limit: int,
    *,
    newest: bool,
) -> list[int]:
    query = select(_E.seq).where(*clauses, side).order_by(_E.seq.desc() if newest else _E.seq).limit(limit)
    return sorted(connection.execute(query).scalars())


def _count(connection: Connection, clauses: Collection[ColumnElement[bool]]) -> int:
    return int(connection.execute(select(func.count()).select_from(episodes).where(*clauses)).scalar_one())


def _loaded(connection: Connection, user_id: str, seqs: Sequence[int]) -> list[Episode]:
    found = load(connection, user_id, seqs)
    return [found[seq] for seq in seqs]
