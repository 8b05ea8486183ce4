"""The log of changed or removed units, used to update an in-memory index incrementally.

An entry consists of a row number and the user's generation in which the change was committed, or a later generation; it
contains no text. Added units need no entry, because their numbers are larger than all earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, func, select

from nscma_torch.core.database.database import pages
from nscma_torch.core.database.schema import users
from nscma_torch.episodic.index.unit_schema import unit_changes, units

_ALL = 0  # in place of a row number: whatever was read before is void
_KEPT = 1024  # generations


def note(connection: Connection, seqs: Sequence[int]) -> None:
    """Log that these units will be changed or removed. Call it before the change, and call `streams.touch_user` in the
    same transaction.
    """
    owners: set[str] = set()
    for some in pages(seqs):
        own = select(units.c.user_id, users.c.generation + 1, units.c.seq).join(
            users, users.c.user_id == units.c.user_id
        )
        changed = own.where(units.c.seq.in_(some))
        connection.execute(unit_changes.insert().from_select(["user_id", "generation", "unit_seq"], changed))
        owners.update(connection.execute(select(units.c.user_id).where(units.c.seq.in_(some)).distinct()).scalars())
    for user_id in sorted(owners):
        _prune(connection, user_id)


def void(connection: Connection, user_id: str) -> None:
    """Log that all of a user's units must be read again, and drop earlier entries."""
    connection.execute(delete(unit_changes).where(unit_changes.c.user_id == user_id))
    now = connection.execute(select(users.c.generation).where(users.c.user_id == user_id)).scalar_one()
    begin(connection, user_id, now + 1)


def begin(connection: Connection, user_id: str, generation: int) -> None:
    """Log that nothing is known about a user before this generation, because an erased user may have returned."""
    connection.execute(unit_changes.insert().values(user_id=user_id, generation=generation, unit_seq=_ALL))


def since(connection: Connection, user_id: str, generation: int) -> list[int] | None:
    """Return the row numbers of the units changed or removed after a generation, ascending; None if all units must be
    read.
    """
    query = select(unit_changes.c.unit_seq).distinct().order_by(unit_changes.c.unit_seq)
    own = query.where(unit_changes.c.user_id == user_id, unit_changes.c.generation > generation)
    seqs = list(connection.execute(own).scalars())
    return None if _ALL in seqs else seqs


def _prune(connection: Connection, user_id: str) -> None:
    """Keep the entries for the latest generations; readers that are further behind read everything."""
    own = unit_changes.c.user_id == user_id
    oldest = connection.execute(select(func.min(unit_changes.c.generation)).where(own)).scalar_one()
    now = connection.execute(select(users.c.generation).where(users.c.user_id == user_id)).scalar_one()
    if now - oldest > 2 * _KEPT:
        last = now - _KEPT
        connection.execute(delete(unit_changes).where(own, unit_changes.c.generation <= last))
        begin(connection, user_id, last)
