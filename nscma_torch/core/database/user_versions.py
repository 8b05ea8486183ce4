"""Versions of a user's stored data, used to detect changes."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from nscma_torch.core.database.database import next_seq
from nscma_torch.core.database.schema import users

_USER_VERSION = select(users.c.generation, users.c.epoch).where(users.c.user_id == bindparam("user_id"))


def first_version(connection: Connection) -> dict[str, int]:
    """Return a new user's epoch and generation, which exceed those of every erased user.

    A new stream's version comes from the same counter, for the same reason.
    """
    epoch = new_epoch(connection)
    return {"epoch": epoch, "generation": epoch << 32}


def version(connection: Connection, user_id: str) -> tuple[int, int]:
    """Return (generation, epoch) for a user's data; if either has changed, data read earlier is out of date."""
    row = connection.execute(_USER_VERSION, {"user_id": user_id}).first()
    return (0, 0) if row is None else (row.generation, row.epoch)


def new_epoch(connection: Connection) -> int:
    """Take an unused epoch, which distinguishes a user who returns after an erasure from the erased user."""
    return next_seq(connection, "epochs")
