"""Collect the counts for `stats()`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from nscma_torch.core.database.database import Database
from nscma_torch.core.database.schema import episodes, recalls, streams, users
from nscma_torch.core.jobs import jobs, leases, worker_health
from nscma_torch.core.records import Stats
from nscma_torch.episodic.index import fingerprint, units
from nscma_torch.semantic.store import facts


def users_of(connection: Connection, *, limit: int | None = None) -> list[str]:
    """Return the store's users ordered by name: all of them, or the first `limit`."""
    return list(connection.execute(select(users.c.user_id).order_by(users.c.user_id).limit(limit)).scalars())


class Process(NamedTuple):
    """Counts for this process's work; see `Stats`."""

    stage_seconds: Mapping[str, float]
    language: str
    language_work: Mapping[str, int]


def collect(connection: Connection, database: Database, user_id: str | None, process: Process) -> Stats:
    """Collect the counts for one user, or for the whole store."""
    query = select(episodes.c.status, episodes.c.write, func.count()).group_by(episodes.c.status, episodes.c.write)
    of_streams = select(func.count()).select_from(streams)
    of_recalls = select(func.coalesce(func.sum(recalls.c.count), 0))
    if user_id is not None:
        query = query.where(episodes.c.user_id == user_id)
        of_streams = of_streams.where(streams.c.user_id == user_id)
        of_recalls = of_recalls.where(recalls.c.user_id == user_id)
    tally = {(status, write): n for status, write, n in connection.execute(query)}
    states = jobs.states(connection, user_id)
    everyone = users_of(connection)
    return Stats(
        users=len(everyone) if user_id is None else int(user_id in everyone),
        streams=connection.execute(of_streams).scalar_one(),
        messages=sum(tally.values()),
        written=sum(n for (_, write), n in tally.items() if write),
        deferred=sum(n for (_, write), n in tally.items() if write is False),
        deleted=sum(n for (status, _), n in tally.items() if status == "deleted"),
        units=units.count(connection, user_id),
        facts=facts.count(connection, user_id),
        jobs_queued=states.get("queued", 0),
        jobs_failed=states.get("failed", 0),
        failures=tuple(jobs.failures(connection, user_id)),
        recalls_queued=int(connection.execute(of_recalls).scalar_one()),
        embedder=fingerprint.stored(connection),
        file_bytes=database.size(),
        stage_seconds=dict(process.stage_seconds),
        language=process.language,
        language_work=dict(process.language_work),
        workers=worker_health.read(connection, now=leases.now(connection), errors=user_id is None),
    )
