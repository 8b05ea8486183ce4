"""Recalls to be counted: how often searches found each message since the last count."""

from __future__ import annotations

from sqlalchemy import Connection, select

from nscma_torch.core.database.schema import episodes, recalls
from nscma_torch.core.jobs import jobs, leases


def recalls_queued(connection: Connection, episode_seq: int) -> int:
    """Count a message's queued recalls."""
    return connection.execute(select(recalls.c.count).where(recalls.c.episode_seq == episode_seq)).scalar() or 0


def users_recalled(connection: Connection, owner: str) -> list[str]:
    """Return the users with queued recalls whose jobs are leased to an owner, by name."""
    own = leases.held_by(recalls.c.user_id, leases.JOBS, owner)
    query = select(recalls.c.user_id).where(own).distinct().order_by(recalls.c.user_id)
    return list(connection.execute(query).scalars())


def count_recalls(connection: Connection, user_id: str, kind: str) -> int:
    """Add a user's queued recalls to the episodes' accesses, and queue deferred ones for encoding.

    Returns the number of jobs queued. Messages added with `infer=False` have no gate decision, and are never queued.
    """
    rows = connection.execute(
        select(
            recalls.c.episode_seq,
            recalls.c.count.label("times"),
            episodes.c.accesses,
            (episodes.c.decision.is_not(None) & ~episodes.c.encoded).label("waiting"),
            episodes.c.stream_id,
        )
        .join(episodes, episodes.c.seq == recalls.c.episode_seq)
        .where(recalls.c.user_id == user_id)
        .order_by(recalls.c.episode_seq)
    ).all()
    queued = 0
    for row in rows:
        values = {"accesses": max(0, row.accesses + row.times)}
        connection.execute(episodes.update().where(episodes.c.seq == row.episode_seq).values(**values))
        if row.waiting:
            queued += jobs.enqueue(connection, user_id, kind, [(row.stream_id, row.episode_seq)])
    connection.execute(recalls.delete().where(recalls.c.user_id == user_id))
    return queued
