"""Leases: who may do something until when. A holder pushes the time ahead while it lives; an expired lease is free.

Three kinds of names: the right to run jobs, the place of the background worker, and one for each user whose question
waits for its queue, which workers look at between two batches.
"""

from __future__ import annotations

import os
import socket
import uuid

from sqlalchemy import Connection, and_, select

from nscma_torch.storage.schema import leases

_ASKING = "asking "  # followed by the user whose question waits


def owner_name(number: str) -> str:
    """The name of an owner in this process: host, process id, a number of its own. A forked child is somebody else."""
    return f"{socket.gethostname()} {os.getpid()} {number}"


def new_number() -> str:
    """A number that no other owner has."""
    return uuid.uuid4().hex


def is_dead(owner: str) -> bool:
    """Whether the process that holds a lease ran on this machine and has ended: nobody needs to wait for it."""
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


def holder(connection: Connection, name: str) -> str | None:
    """The holder of a lease, expired or not."""
    return connection.execute(select(leases.c.owner).where(leases.c.name == name)).scalar()


def live_holder(connection: Connection, name: str, *, now: int) -> str | None:
    """The holder of a lease that has not expired, unless its process is known to have ended."""
    query = select(leases.c.owner).where(leases.c.name == name, leases.c.until > now)
    owner: str | None = connection.execute(query).scalar()
    return None if owner is None or is_dead(owner) else owner


def acquire(connection: Connection, name: str, owner: str, *, now: int, until: int) -> bool:
    """Take or extend a lease until the time `until`; False while another owner holds it. Times are microseconds."""
    held = connection.execute(select(leases.c.owner, leases.c.until).where(leases.c.name == name)).first()
    if held is not None and held.owner != owner and held.until > now:
        return False
    connection.execute(leases.delete().where(leases.c.name == name))
    connection.execute(leases.insert().values(name=name, owner=owner, until=until))
    return True


def take_over(connection: Connection, name: str, owner: str, *, now: int, until: int) -> bool:
    """`acquire`, also from a holder whose process is known to have ended."""
    held_by = holder(connection, name)
    if held_by is not None and is_dead(held_by):
        release(connection, name, held_by)
    return acquire(connection, name, owner, now=now, until=until)


def release(connection: Connection, name: str, owner: str) -> None:
    """Give a lease back, if it is ours."""
    connection.execute(leases.delete().where(and_(leases.c.name == name, leases.c.owner == owner)))


def ask_for(connection: Connection, user_id: str, owner: str, *, until: int) -> None:
    """Have whoever runs jobs take those of this user first, until then or until `asked`; the latest asker counts."""
    name = _ASKING + user_id
    connection.execute(leases.delete().where(leases.c.name == name))
    connection.execute(leases.insert().values(name=name, owner=owner, until=until))


def asked(connection: Connection, user_id: str, owner: str) -> None:
    """A question waits no longer."""
    release(connection, _ASKING + user_id, owner)


def asking(connection: Connection, *, now: int) -> list[str]:
    """The users whose questions wait, those whose time is up soonest first."""
    name = leases.c.name
    query = select(name).where(name > _ASKING, name < _ASKING[:-1] + "!", leases.c.until > now)
    found = connection.execute(query.order_by(leases.c.until, name)).scalars()
    return [one.removeprefix(_ASKING) for one in found]


def forget_user(connection: Connection, user_id: str) -> None:
    """Delete what names a user."""
    connection.execute(leases.delete().where(leases.c.name == _ASKING + user_id))
