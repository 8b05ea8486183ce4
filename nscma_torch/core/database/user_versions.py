"""Versions of what is stored of a user, by which readers notice that something changed."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from nscma_torch.core.database.database import next_seq
from nscma_torch.core.database.schema import users

_USER_VERSION = select(users.c.generation, users.c.epoch).where(users.c.user_id == bindparam("user_id"))


def first_version(connection: Connection) -> dict[str, int]:
    """The epoch and the generation that a new user begins with: above all that one who was erased has had.

    A new stream takes its version from the same numbers, for the same reason.
    """
    epoch = new_epoch(connection)
    return {"epoch": epoch, "generation": epoch << 32}


def version(connection: Connection, user_id: str) -> tuple[int, int]:
    """(generation, epoch) of what is stored of a user: what was read before one of them changed is out of date."""
    row = connection.execute(_USER_VERSION, {"user_id": user_id}).first()
    return (0, 0) if row is None else (row.generation, row.epoch)


def new_epoch(connection: Connection) -> int:
    """A number that no epoch of any user has had, so that a user who is erased and returns is not taken for the old."""
    return next_seq(connection, "epochs")
