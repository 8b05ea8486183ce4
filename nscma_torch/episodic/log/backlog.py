"""The backlog: deferred messages that no job has processed yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from nscma_torch.core.database.schema import episodes
from nscma_torch.core.database.schema import jobs as job_rows
from nscma_torch.core.jobs import jobs
from nscma_torch.episodic.log import episodes as episode_rows

EXTRACT = "extract"  # the job that a written message waits for
RESTATE = "restate"  # the job of a deferred one that was said before


def queue_deferred(connection: Connection, user_id: str, kind: str, now: int) -> int:
    """Queue the user's deferred messages for jobs of this kind, including recalled messages; return their number.

    Messages whose job has failed are left to `retry_failed`, so that they don't fail again every night. Times are in
    microseconds.
    """
    tried = select(job_rows.c.episode_seq).where(job_rows.c.kind == kind, job_rows.c.episode_seq.is_not(None))
    query = (
        select(episodes.c.stream_id, episodes.c.seq)
        .where(episodes.c.user_id == user_id, episode_rows.decided(False), ~episodes.c.encoded)
        .where(episode_rows.live(now), episodes.c.seq.not_in(tried))
        .order_by(episodes.c.seq)
    )
    waiting = [(stream_id, seq) for stream_id, seq in connection.execute(query)]
    return jobs.enqueue(connection, user_id, kind, waiting)


def queue_encoded(connection: Connection, user_id: str, agent_id: str | None, kind: str) -> int:
    """Queue the extracted messages to this agent (or, if None, to no agent) for jobs of this kind; return their
    number.
    """
    own = episodes.c.agent_id.is_not_distinct_from(agent_id)
    query = select(episodes.c.stream_id, episodes.c.seq).where(episodes.c.user_id == user_id, own, episodes.c.encoded)
    query = query.where(episodes.c.status == "active").order_by(episodes.c.seq)
    return jobs.enqueue(connection, user_id, kind, [(stream_id, seq) for stream_id, seq in connection.execute(query)])


def queue_repeated(connection: Connection, kind: str, rows: Sequence[Mapping[Any, Any]]) -> None:
    """Queue the given deferred episodes whose whole text was already in the user's memory."""
    for row in rows:
        if episode_rows.said_before(connection, row["user_id"], row["seq"], [row["text_hash"]]):
            jobs.enqueue(connection, row["user_id"], kind, [(row["stream_id"], row["seq"])])


def same_said(connection: Connection, seq: int) -> list[tuple[int, bool]]:
    """Return earlier episodes with the same speaker, text and agent, oldest first, each with True if it was extracted.

    It skips episodes that are hidden, have an expiration date or were stored without inference.
    """
    own = episodes.alias()
    alike = (
        (episodes.c.user_id == own.c.user_id)
        & (episodes.c.text_hash == own.c.text_hash)
        & (episodes.c.seq < own.c.seq)
        & (episodes.c.role == own.c.role)
        & episodes.c.name.is_not_distinct_from(own.c.name)
        & episodes.c.agent_id.is_not_distinct_from(own.c.agent_id)
    )
    query = select(episodes.c.seq, episodes.c.encoded).join(own, alike).where(own.c.seq == seq)
    query = query.where(episodes.c.status == "active", episodes.c.expires_at.is_(None), episodes.c.write.is_not(None))
    return [(row.seq, row.encoded) for row in connection.execute(query.order_by(episodes.c.seq))]


def deferred(connection: Connection, user_id: str, now: int) -> int:
    """Count the user's deferred messages without a job, which `sleep` would queue."""
    query = select(func.count()).where(episodes.c.user_id == user_id, episodes.c.write.is_not(None))
    tried = select(job_rows.c.episode_seq).where(job_rows.c.user_id == user_id, job_rows.c.episode_seq.is_not(None))
    query = query.where(~episodes.c.encoded, episode_rows.live(now), episodes.c.seq.not_in(tried))
    return connection.execute(query).scalar_one()
