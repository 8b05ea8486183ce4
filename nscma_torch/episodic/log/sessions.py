"""Short-term memory: a user's sessions, and the window with a session's last K turns.

A session consists of the messages with the same label in one stream; a stream without labels is one session. A turn is
a message with its replies: messages from the assistant and from tools belong to the turn before them. Documents and the
program's own messages (role "system") belong to no session.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, func, select

from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.schema import episodes, streams
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.records import Episode, Scope
from nscma_torch.episodic.log import episodes as log
from nscma_torch.episodic.log.turns import load

_E = episodes.c
_SAID = func.coalesce(_E.occurred_at, _E.recorded_at)
_REPLIES = ("assistant", "tool")


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation: its label (None if its messages have none), size, times, and first words."""

    scope: Scope
    name: str | None
    messages: int
    begun_at: datetime
    last_at: datetime
    opening: str


def sessions(connection: Connection, scope: Scope, now: int, *, limit: int | None = None) -> list[Session]:
    """Return the sessions in a scope that have live messages at `now` (microseconds), most recent first."""
    first = func.min(_E.position).label("first")
    grouped = (
        select(_E.stream_id, _E.session, first, func.count().label("messages"), *_ends())
        .where(_conversation(scope, now))
        .group_by(_E.stream_id, _E.session)
        .order_by(func.max(_SAID).desc(), func.max(_E.seq).desc())
        .limit(limit)
    )
    found = []
    for row in connection.execute(grouped).all():
        beginning = select(_E.agent_id, _E.run_id, _E.text)
        begun = connection.execute(beginning.where(_E.stream_id == row.stream_id, _E.position == row.first)).one()
        own = Scope(scope.user_id, begun.agent_id, begun.run_id)
        times = from_micros(row.begun), from_micros(row.last)
        found.append(Session(own, row.session, row.messages, *times, begun.text))
    return found


def window(connection: Connection, scope: Scope, turns: int, now: int, *, session: str | None = None) -> list[Episode]:
    """Return the last `turns` turns in the scope's most recent session, oldest message first.

    `session` selects another session. Raises `NotFoundError` if the scope has no such session.
    """
    within = _conversation(scope, now) if session is None else _conversation(scope, now) & (_E.session == session)
    newest = select(_E.stream_id, _E.session).where(within).order_by(_SAID.desc(), _E.seq.desc()).limit(1)
    chosen = connection.execute(newest).first()
    if chosen is None:
        if session is not None:
            raise NotFoundError(f"user {scope.user_id!r} has no session {session!r} here; `nscma sessions` lists them")
        return []
    own = select(_E.seq, _E.role).where(
        _E.stream_id == chosen.stream_id, _E.session.is_not_distinct_from(chosen.session), *_said(now)
    )
    seqs: list[int] = []
    begun = 0
    with connection.execute(own.order_by(_E.position.desc()).execution_options(yield_per=64)) as rows:
        for row in rows:
            seqs.append(row.seq)
            begun += row.role not in _REPLIES
            if begun == turns:
                break
    found = load(connection, scope.user_id, seqs)
    return [found[seq] for seq in reversed(seqs)]


def _ends() -> tuple[ColumnElement[int], ColumnElement[int]]:
    return func.min(_SAID).label("begun"), func.max(_SAID).label("last")


def _said(now: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return log.live(now), _E.role.not_in(("system", "document"))


def _conversation(scope: Scope, now: int) -> ColumnElement[bool]:
    """Build the condition that a message is live and belongs to a conversation in the scope."""
    talks = select(streams.c.id).where(streams.c.user_id == scope.user_id, streams.c.source.is_(None))
    return and_(log.within(scope), _E.stream_id.in_(talks), *_said(now))
