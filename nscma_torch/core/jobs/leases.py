"""Leases: who does which work of a user, and until when. A holder pushes the time ahead while it lives; an expired
lease is free, and so is that of a process of this machine that has ended.

A user has one of each name: the right to run the jobs, the right to sleep by schedule, and the wish of a question that
waits for the queue, which workers look at between two batches. Their rows are made with the user, so that taking one
only changes it: in PostgreSQL two who look for leases at once pass over the rows that the other is taking
(`FOR UPDATE SKIP LOCKED`), and neither waits; a file has one writer.
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
    """The name of an owner in this process: host, process id, a number of its own. A forked child is somebody else."""
    return f"{socket.gethostname()} {os.getpid()} {number}"


def new_number() -> str:
    """A number that no other owner has."""
    return uuid.uuid4().hex


def is_dead(owner: str) -> bool:
    """Return whether a lease's owner was a process of this machine that has ended, so the lease is free."""
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
    """Microseconds of the clock by which leases run: the PostgreSQL server's, or for a file this machine's.

    Machines that share a PostgreSQL store need no agreeing clocks of their own.
    """
    if in_postgres(connection):  # not now(), which stands still within a transaction
        clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        return int(connection.exec_driver_sql(clock).scalar_one())
    return time.time_ns() // 1000


def begin(connection: Connection, user_ids: Iterable[str]) -> None:
    """Make the leases of new users, with the users."""
    rows = [{"user_id": user_id, "name": name, "until": 0} for user_id in user_ids for name in NAMES]
    if rows:
        connection.execute(user_leases.insert(), rows)


def held_by(column: ColumnElement[str], name: str, owner: str) -> ColumnElement[bool]:
    """Build the condition that an owner has the lease of the user in a column."""
    own = (user_leases.c.user_id == column) & (user_leases.c.name == name) & (user_leases.c.owner == owner)
    return select(user_leases.c.user_id).where(own).exists()


def holder(connection: Connection, name: str, user_id: str) -> str | None:
    """The holder of a lease, expired or not."""
    query = select(user_leases.c.owner).where(user_leases.c.user_id == user_id, user_leases.c.name == name)
    return connection.execute(query).scalar()


def holders(connection: Connection, name: str, *, now: int) -> list[str]:
    """The processes that hold leases of a name which have not expired. Times are microseconds."""
    query = select(user_leases.c.owner).where(user_leases.c.name == name, user_leases.c.until > now)
    return list(connection.execute(query.distinct().order_by(user_leases.c.owner)).scalars())


def free(
    connection: Connection, name: str, wanted: Select[str], owner: str, *, now: int, longest: int = DAY
) -> list[str]:
    """Return the wanted users whose lease an owner can take, in the given order.

    A lease that runs for more than `longest` (microseconds) from now is of a clock that was ahead, and free.
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
    """Take the leases of these users until a time, or push them ahead; returns the users whose lease the owner has now.

    Left out are those that others hold, or are taking at this instant; `longest` as in `free`.
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
    """The `longest` of leases that are taken for so many seconds: room for other settings and clocks."""
    return int((10 * seconds + 60) * 1e6)


def _free(connection: Connection, name: str, owner: str, now: int, longest: int) -> ColumnElement[bool]:
    """Build the condition that an owner can take a lease: no live holder, an end too far ahead, or already its own."""
    ended = [one for one in holders(connection, name, now=now) if is_dead(one)]
    ends = user_leases.c.until
    return (ends <= now) | (ends > now + longest) | user_leases.c.owner.in_([owner, *ended])


def renew(connection: Connection, name: str, owner: str, *, until: int) -> None:
    """Push ahead all leases of a name that an owner still has."""
    connection.execute(user_leases.update().where(_own(name, owner)).values(until=until))


def release(connection: Connection, name: str, owner: str, user_ids: Sequence[str] | None = None) -> None:
    """Give back the leases of these users, or all of the name, as far as they are the owner's."""
    given = user_leases.update().where(_own(name, owner)).values(owner=None, until=0)
    if user_ids is None:
        connection.execute(given)
        return
    for some in pages(user_ids):
        connection.execute(given.where(user_leases.c.user_id.in_(some)))


def _own(name: str, owner: str) -> ColumnElement[bool]:
    return (user_leases.c.name == name) & (user_leases.c.until > 0) & (user_leases.c.owner == owner)


def done(connection: Connection, name: str, user_id: str, owner: str, *, at: int) -> None:
    """Give a lease back, if it is the owner's, and keep the time for which the work was done."""
    own = _own(name, owner) & (user_leases.c.user_id == user_id)
    connection.execute(user_leases.update().where(own).values(owner=None, until=0, done_at=at))


def undone(name: str, *, before: int, now: int) -> Select[str]:
    """The users for whom the work was last done for an earlier time, for one far after now, or never, by name."""
    at = user_leases.c.done_at
    late = at.is_(None) | (at < before) | (at > now + DAY)
    return select(user_leases.c.user_id).where(user_leases.c.name == name, late).order_by(user_leases.c.user_id)


def ask_for(connection: Connection, user_id: str, owner: str, *, until: int) -> None:
    """Have whoever runs jobs take those of this user first, until then or until `asked`; the latest asker counts."""
    own = (user_leases.c.user_id == user_id) & (user_leases.c.name == ASKING)
    connection.execute(user_leases.update().where(own).values(owner=owner, until=until))


def asked(connection: Connection, user_id: str, owner: str) -> None:
    """A question waits no longer."""
    release(connection, ASKING, owner, [user_id])


def asking(connection: Connection, *, now: int) -> list[str]:
    """The users whose questions wait, those whose time is up soonest first."""
    query = select(user_leases.c.user_id).where(user_leases.c.name == ASKING, user_leases.c.until > now)
    return list(connection.execute(query.order_by(user_leases.c.until, user_leases.c.user_id)).scalars())


def problems(connection: Connection) -> list[str]:
    """Users without leases, whom nobody would work for."""
    query = select(users.c.user_id).order_by(users.c.user_id)
    for name in NAMES:
        own = select(user_leases.c.user_id).where(user_leases.c.user_id == users.c.user_id, user_leases.c.name == name)
        query = query.where(own.exists())
    whole = set(connection.execute(query).scalars())
    found = connection.execute(select(users.c.user_id).order_by(users.c.user_id)).scalars()
    return [f"user {user_id!r} has no lease of each kind" for user_id in found if user_id not in whole]
