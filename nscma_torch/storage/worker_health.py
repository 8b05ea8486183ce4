"""What is known of the background worker of a store, for `stats`: its last sign of life, error and sleep.

A worker that stops takes its report back. One that was killed leaves it, with its lease, which expires.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from sqlalchemy import Connection

from nscma_torch.records import WorkerHealth
from nscma_torch.storage import leases
from nscma_torch.storage.clock import from_micros, optional_from_micros
from nscma_torch.storage.database import get_meta, set_meta

LEASE = "background"  # which the background worker of a store holds for as long as it runs
_REPORT, _ERROR, _SLEPT = "worker", "worker error", "worker slept"  # keys of the table meta


class Report(NamedTuple):
    """A sign of life: whose, when in microseconds, and what is being done."""

    owner: str
    at: int
    state: str


def report(connection: Connection, sign: Report) -> None:
    """Write a worker's report in the place of the one before."""
    set_meta(connection, _REPORT, json.dumps(sign))


def withdraw(connection: Connection) -> None:
    """Delete the report of a worker that stops."""
    set_meta(connection, _REPORT, "")


def note_error(connection: Connection, error: str, at: int) -> None:
    """Keep the last error of background work."""
    set_meta(connection, _ERROR, json.dumps([at, error]))


def forget_error(connection: Connection) -> None:
    """Delete the last error: it may quote a reply of a model, and that repeats what it read."""
    set_meta(connection, _ERROR, "")


def read(connection: Connection, *, now: int, errors: bool) -> WorkerHealth | None:
    """The report of the worker that runs, or that ended without a word; None where the last one stopped as it should.

    `errors`: with the last error, which may quote what any user said.
    """
    text = get_meta(connection, _REPORT)
    if not text:
        return None
    sign = Report(*json.loads(text))
    error_at, error = json.loads((errors and get_meta(connection, _ERROR)) or "[null, null]")
    return WorkerHealth(
        owner=sign.owner,
        heartbeat=from_micros(sign.at),
        alive=leases.live_holder(connection, LEASE, now=now) == sign.owner,
        state=sign.state,
        slept_at=optional_from_micros(slept_at(connection)),
        error=error,
        error_at=optional_from_micros(error_at),
    )


def slept_at(connection: Connection) -> int | None:
    """When the last scheduled sleep of the store began, in microseconds; None before the first one."""
    at = get_meta(connection, _SLEPT)
    return None if at is None else int(at)


def note_sleep(connection: Connection, at: int) -> None:
    """Keep when a scheduled sleep began."""
    set_meta(connection, _SLEPT, str(at))
