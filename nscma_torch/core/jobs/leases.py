"""Leases: which process does which work for a user, and until when.

A holder extends its lease as long as it runs; a lease is free once it expires, or once its process has ended if that
was on this machine.

Each user has one lease per name: the right to run jobs, the right to run scheduled sleep, and the request from a
question that is waiting for the queue, which workers check between batches. Rows are created with the user, so taking a
lease only updates a row: in PostgreSQL, two claimants skip the rows that the other is taking (`FOR UPDATE SKIP LOCKED`)
and neither waits; a SQLite file has one writer.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import ColumnElement, Connection, Select, select

from nscma_torch.core.database.database import pages
from nscma_torch.core.database.dialects import in_postgres
from nscma_torch.core.database.schema import user_leases, users

JOBS, SLEEP, ASKING = "jobs", "sleep", "asking"
DAY = 86_400_000_000  # microseconds; a time that is further ahead is of a wrong clock
NAMES = (JOBS, SLEEP, ASKING)


def owner_name(number: str) -> str:
    """Name an owner in this process by host, process id and a unique number; the name differs in a forked child."""
    return f"{socket.gethostname()} {os.getpid()} {number}"


def new_number() -> str:
    """Return a number that no other owner uses."""
    return uuid.uuid4().hex


def is_dead(owner: str) -> bool:
    """Return True if the owner was a process on this machine that has ended."""
    host, pid, _ = owner.split()
    if host != socket.gethostname() or os.name != "posix":  # elsewhere signal 0 is no mere question
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it lives, under another account
        return False
    return False


def now(connection: Connection) -> int:
    """Return the time used for leases in microseconds: from the PostgreSQL server, or from this machine for a file.

    Machines that share a PostgreSQL store therefore don't need synchronised clocks.
    """
    if in_postgres(connection):  # not now(), which stands still within a transaction
        clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        return int(connection.exec_driver_sql(clock).scalar_one())
    return time.time_ns() // 1000


def begin(connection: Connection, user_ids: Iterable[str]) -> None:
    """Create the lease rows for new users."""
    rows = [{"user_id": user_id, "name": name, "until": 0} for user_id in user_ids for name in NAMES]
    if rows:
        connection.execute(user_leases.insert(), rows)


def held_by(column: ColumnElement[str], name: str, owner: str) -> ColumnElement[bool]:
    """Build the condition that an owner holds the lease for the user in `column`."""
    own = (user_leases.c.user_id == column) & (user_leases.c.name == name) & (user_leases.c.owner == owner)
    return select(user_leases.c.user_id).where(own).exists()


def holder(connection: Connection, name: str, user_id: str) -> str | None:
    """Return the holder of a lease, even an expired one."""
    query = select(user_leases.c.owner).where(user_leases.c.user_id == user_id, user_leases.c.name == name)
    return connection.execute(query).scalar()


def holders(connection: Connection, name: str, *, now: int) -> list[str]:
    """Return the owners that hold unexpired leases with this name. Times are in microseconds."""
    query = select(user_leases.c.owner).where(user_leases.c.name == name, user_leases.c.until > now)
    return list(connection.execute(query.distinct().order_by(user_leases.c.owner)).scalars())


def free(
    connection: Connection, name: str, wanted: Select[str], owner: str, *, now: int, longest: int = DAY
) -> list[str]:
    """Return the wanted users whose leases an owner can take, in the given order.

    A lease that ends more than `longest` microseconds from now was set by a fast clock and counts as free.
    """
    query = select(user_leases.c.user_id).where(user_leases.c.name == name)
    can_have = set(connection.execute(query.where(_free(connection, name, owner, now, longest))).scalars())
    return [user_id for user_id in connection.execute(wanted).scalars() if user_id in can_have]


def claim(
    connection: Connection,
    name: str,
    user_ids: Collection[str],
    owner: str,
    *,
    now: int,
    until: int,
    longest: int = DAY,
) -> list[str]:
    """Take or extend these users' leases until a given time; return the users whose leases the owner now holds.

    Leases that others hold or are taking at this moment are skipped; `longest` is as in `free`.
    """
    taken: list[str] = []
    can_have = _free(connection, name, owner, now, longest)
    for some in pages(sorted(user_ids)):
        own = (user_leases.c.name == name) & user_leases.c.user_id.in_(some)
        query = select(user_leases.c.user_id).where(own, can_have).with_for_update(skip_locked=True)
        found = list(connection.execute(query).scalars())
        if found:
            mine = (user_leases.c.name == name) & user_leases.c.user_id.in_(found)
            connection.execute(user_leases.update().where(mine).values(owner=owner, until=until))
            taken += found
    return taken


def reach(seconds: float) -> int:
    """Return `longest` for leases of `seconds`, with a margin for workers whose settings or clocks differ."""
    return int((10 * seconds + 60) * 1e6)


def _free(connection: Connection, name: str, owner: str, now: int, longest: int) -> ColumnElement[bool]:
    """Build the condition that a lease can be taken: it has no live holder, ends too far in the future, or is already
    held by `owner`."""
    ended = [one for one in holders(connection, name, now=now) if is_dead(one)]
    ends = user_leases.c.until
    return (ends <= now) | (ends > now + longest) | user_leases.c.owner.in_([owner, *ended])


def renew(connection: Connection, name: str, owner: str, *, until: int) -> None:
    """Extend all leases with this name that an owner still holds."""
    connection.execute(user_leases.update().where(_own(name, owner)).values(until=until))


def release(connection: Connection, name: str, owner: str, user_ids: Sequence[str] | None = None) -> None:
    """Release the owner's leases for these users, or all its leases with this name."""
    given = user_leases.update().where(_own(name, owner)).values(owner=None, until=0)
    if user_ids is None:
        connection.execute(given)
        return
    for some in pages(user_ids):
        connection.execute(given.where(user_leases.c.user_id.in_(some)))


def _own(name: str, owner: str) -> ColumnElement[bool]:
    return (user_leases.c.name == name) & (user_leases.c.until > 0) & (user_leases.c.owner == owner)


def done(connection: Connection, name: str, user_id: str, owner: str, *, at: int) -> None:
    """Release a lease that the owner holds, and record the time for which the work was done."""
    own = _own(name, owner) & (user_leases.c.user_id == user_id)
    connection.execute(user_leases.update().where(own).values(owner=None, until=0, done_at=at))


def undone(name: str, *, before: int, now: int) -> Select[str]:
    """Select, ordered by id, the users whose work was never done, or was last done for an earlier time or a time far in
    the future."""
    at = user_leases.c.done_at
    late = at.is_(None) | (at < before) | (at > now + DAY)
    return select(user_leases.c.user_id).where(user_leases.c.name == name, late).order_by(user_leases.c.user_id)


def ask_for(connection: Connection, user_id: str, owner: str, *, until: int) -> None:
    """Ask workers to process this user first, until the given time or until `asked` is called; the latest request
    counts."""
    own = (user_leases.c.user_id == user_id) & (user_leases.c.name == ASKING)
    connection.execute(user_leases.update().where(own).values(owner=owner, until=until))


def asked(connection: Connection, user_id: str, owner: str) -> None:
    """Withdraw the request that a question made with `ask_for`."""
    release(connection, ASKING, owner, [user_id])


def asking(connection: Connection, *, now: int) -> list[str]:
    """Return the users whose questions are waiting, the soonest to expire first."""
    query = select(user_leases.c.user_id).where(user_leases.c.name == ASKING, user_leases.c.until > now)
    return list(connection.execute(query.order_by(user_leases.c.until, user_leases.c.user_id)).scalars())


def problems(connection: Connection) -> list[str]:
    """Report users without leases, as no worker would serve them."""
    query = select(users.c.user_id).order_by(users.c.user_id)
    for name in NAMES:
        own = select(user_leases.c.user_id).where(user_leases.c.user_id == users.c.user_id, user_leases.c.name == name)
        query = query.where(own.exists())
    whole = set(connection.execute(query).scalars())
    found = connection.execute(select(users.c.user_id).order_by(users.c.user_id)).scalars()
    return [f"user {user_id!r} lacks a lease" for user_id in found if user_id not in whole]
