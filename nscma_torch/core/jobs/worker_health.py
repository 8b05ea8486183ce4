"""Background workers' state for `stats`: heartbeats, last error, last sleep.

A worker that stops removes its report. The report of a killed worker remains until another worker starts.

A scheduled sleep of the store is a round with a single time: for each user, one of the workers runs sleep once for this
time, and the round ends when all users are done.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from sqlalchemy import Connection, select

from nscma_torch.core.database.clock import from_micros, optional_from_micros
from nscma_torch.core.database.database import get_meta, set_meta
from nscma_torch.core.database.dialects import insert
from nscma_torch.core.database.schema import work_errors, workers
from nscma_torch.core.jobs import leases
from nscma_torch.core.records import WorkerHealth

_ERROR, _SLEPT, _SLEEPING = "worker error", "worker slept", "worker sleeps"  # keys of the table meta


class Report(NamedTuple):
    """A worker's heartbeat: owner, time in microseconds, expiry, and current activity."""

    owner: str
    at: int
    until: int
    state: str


def report(connection: Connection, sign: Report) -> None:
    """Store a worker's report, replacing its previous one."""
    values = sign._asdict()
    row = insert(connection, workers).values(values)
    connection.execute(row.on_conflict_do_update(index_elements=[workers.c.owner], set_=values))


def withdraw(connection: Connection, owner: str) -> None:
    """Delete a stopping worker's report."""
    connection.execute(workers.delete().where(workers.c.owner == owner))


def forget_dead(connection: Connection, *, now: int) -> None:
    """Delete the reports of workers that have died."""
    gone = set(connection.execute(select(workers.c.owner)).scalars()) - set(living(connection, now=now))
    connection.execute(workers.delete().where(workers.c.owner.in_(gone)))


def living(connection: Connection, *, now: int) -> list[str]:
    """Return the live workers, in the same order in every process."""
    query = select(workers.c.owner).where(workers.c.until > now).order_by(workers.c.owner)
    return [owner for owner in connection.execute(query).scalars() if not leases.is_dead(owner)]


def note_error(connection: Connection, user_id: str | None, error: str, at: int) -> None:
    """Store the last background error for a user, or if `user_id` is None for a worker itself."""
    if user_id is None:
        set_meta(connection, _ERROR, json.dumps([at, error]))
        return
    row = insert(connection, work_errors).values(user_id=user_id, at=at, error=error)
    newest = {"at": at, "error": error}
    connection.execute(row.on_conflict_do_update(index_elements=[work_errors.c.user_id], set_=newest))


def forget_error(connection: Connection, user_id: str) -> None:
    """Delete a user's last error, as it may quote a model reply, which may repeat messages."""
    connection.execute(work_errors.delete().where(work_errors.c.user_id == user_id))


def _last_error(connection: Connection) -> tuple[int | None, str | None]:
    """Return the time and message of the most recent error."""
    found = connection.execute(select(work_errors.c.at, work_errors.c.error).order_by(work_errors.c.at.desc()).limit(1))
    own = json.loads(get_meta(connection, _ERROR) or "null")
    last = max((tuple(row) for row in (found.first(), own) if row is not None), default=(None, None))
    return last[0], last[1]


def read(connection: Connection, *, now: int, errors: bool) -> tuple[WorkerHealth, ...]:
    """Return the reports of workers that are running or have died, but not of those that stopped normally.

    With `errors`, include the last error, which may quote any user's messages.
    """
    error_at, error = _last_error(connection) if errors else (None, None)
    alive, slept = set(living(connection, now=now)), slept_at(connection)
    return tuple(
        WorkerHealth(
            owner=row.owner,
            heartbeat=from_micros(row.at),
            alive=row.owner in alive,
            state=row.state,
            slept_at=optional_from_micros(slept),
            error=error,
            error_at=optional_from_micros(error_at),
        )
        for row in connection.execute(select(workers).order_by(workers.c.owner))
    )


def slept_at(connection: Connection) -> int | None:
    """Return the time of the last completed scheduled sleep in microseconds; None before the first."""
    at = get_meta(connection, _SLEPT)
    return None if at is None else int(at)


def sleeps_for(connection: Connection) -> int | None:
    """Return the time of the scheduled sleep in progress; None if there is none."""
    at = get_meta(connection, _SLEEPING)
    return int(at) if at else None


def begin_sleep(connection: Connection, at: int) -> int:
    """Begin a scheduled sleep unless one with a plausible time is in progress; return the time of the current one."""
    begun = sleeps_for(connection)
    if begun is not None and begun <= at + leases.DAY:
        return begun
    set_meta(connection, _SLEEPING, str(at))
    return at


def note_sleep(connection: Connection, at: int) -> None:
    """Record the time of a completed scheduled sleep, from which the next interval starts."""
    set_meta(connection, _SLEPT, str(at))
    set_meta(connection, _SLEEPING, "")
