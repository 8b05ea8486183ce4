"""The episodic capability: the message log and the unit index, with the store's queue and bookkeeping."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select

from nscma_torch.core.capabilities import Capability, RowQueries
from nscma_torch.core.database.schema import (
    counters,
    drafts,
    episodes,
    history,
    jobs,
    meta,
    recalls,
    streams,
    user_leases,
    users,
    work_errors,
    workers,
)
from nscma_torch.core.jobs import leases
from nscma_torch.episodic.index import check_units
from nscma_torch.episodic.index.unit_schema import postings, unit_changes, unit_sources, units, vectors
from nscma_torch.episodic.log import check_log

_SCOPE = ("user_id", "agent_id", "run_id")
_OF_MESSAGE = ("stream_id", "position", "role", "name", "session", "text", "metadata", "idempotency_key", "occurred_at")
_OF_GATE = ("expires_at", "status", "write", "decision", "encoded", "importance")
_OF_UNIT = ("kind", "text", "stream_id", "position", "session", "role", "name", "start", "end", "length", "expires_at")


def _digest(rows: RowQueries) -> Iterator[tuple[Any, ...]]:
    zones = select(episodes.c.id, episodes.c.utc_offset).where(episodes.c.utc_offset.is_not(None))
    for row in rows(zones.order_by(episodes.c.id), episodes.c.user_id):
        yield ("zone", *row)


def _problems(rows: RowQueries) -> Iterator[str]:
    yield from check_log.problems(rows)
    yield from check_units.problems(rows)
    if rows.users is None:
        yield from leases.problems(rows.connection)


CAPABILITY = Capability(
    tables=(users, streams, episodes, history, jobs, units, unit_sources, vectors, postings),
    local=(meta, counters, user_leases, workers, work_errors, recalls, drafts, unit_changes),
    digest_columns={
        streams: ("id", *_SCOPE, "source", "next_position"),
        episodes: ("id", *_SCOPE, *_OF_MESSAGE, *_OF_GATE),
        units: ("id", *_SCOPE, *_OF_UNIT, "importance", "status"),
    },
    digest_units={
        "source": select(units.c.id, episodes.c.id)
        .join(unit_sources, unit_sources.c.unit_seq == units.c.seq)
        .join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
        .order_by(units.c.id, episodes.c.id)
    },
    digest=_digest,
    problems=_problems,
)
