"""Find a speaker's later messages by the words they contain."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from sqlalchemy import Connection, and_, exists, func, or_, select

from nscma_torch.core.database.dialects import true_in
from nscma_torch.core.database.schema import episodes, streams
from nscma_torch.core.records import Episode, Scope
from nscma_torch.episodic.index.unit_schema import postings, unit_sources
from nscma_torch.episodic.log import episodes as log
from nscma_torch.episodic.log.turns import ECHO
from nscma_torch.semantic.store.fact_schema import statements


class LaterMessage(NamedTuple):
    """A later message; `follows` if it is its speaker's next message, `stated` if a statement was read from it."""

    episode: Episode
    follows: bool
    stated: bool


def said_later(
    connection: Connection,
    scope: Scope,
    episode_id: str,
    *,
    naming: Collection[str],
    without: str,
    now: int,
    limit: int,
) -> Iterator[LaterMessage]:
    """Yield the speaker's later messages that contain one of these lexical terms, and the next message of its
    conversation.

    The newest message comes first. The search skips messages with a statement that uses the relation `without`,
    questions to the memory (`turns.ECHO`), and messages after `now` (microseconds).
    """
    seq, own = log.require(connection, scope.user_id, episode_id)
    spoken_at = log.spoken_at()
    at = select(spoken_at).where(episodes.c.seq == seq).scalar_subquery()
    speaker = func.coalesce(episodes.c.name, episodes.c.role) == (own.name or own.role)
    says = ~true_in(connection, episodes.c.metadata, ECHO)
    following = select(func.min(episodes.c.position)).where(
        episodes.c.stream_id == own.stream_id, episodes.c.position > own.position, speaker, says
    )
    next_one = and_(
        episodes.c.stream_id == own.stream_id, episodes.c.position == following.correlate(None).scalar_subquery()
    )
    named = episodes.c.seq.in_(
        select(unit_sources.c.episode_seq)
        .join(postings, postings.c.unit_seq == unit_sources.c.unit_seq)
        .where(postings.c.user_id == scope.user_id, postings.c.term.in_(list(naming)))
    )
    read = exists().where(statements.c.episode_seq == episodes.c.seq, statements.c.relation == without)
    stated = exists().where(statements.c.episode_seq == episodes.c.seq)
    query = (
        select(
            episodes,
            streams.c.source,
            next_one.label("next_one"),
            stated.label("stated"),
        )
        .join(streams, streams.c.id == episodes.c.stream_id)
        .where(log.within(scope), log.live(now), speaker, says, or_(named, next_one), ~read)
        .where(or_(spoken_at > at, and_(spoken_at == at, episodes.c.seq > seq)), spoken_at <= now)
        .order_by(spoken_at.desc(), episodes.c.seq.desc())
        .limit(limit)
    )
    for row in connection.execute(query).mappings():
        yield LaterMessage(log.from_row(row), bool(row["next_one"]), bool(row["stated"]))
