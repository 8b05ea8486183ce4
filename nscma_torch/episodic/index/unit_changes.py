"""The log of changed or removed units, from which an in-memory index is updated incrementally.

An entry is a row number and the user's generation in which the change was committed, or a later one; no text. Added
units need none: their numbers are larger than any before.
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
    """Log that these units change or go. Call it before the change, and `streams.touch_user` in the
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
    """Log that nothing is known of a user before this generation, as an erased user may have returned."""
    connection.execute(unit_changes.insert().values(user_id=user_id, generation=generation, unit_seq=_ALL))


def since(connection: Connection, user_id: str, generation: int) -> list[int] | None:
    """Return row numbers of the units changed or removed after a generation, ascending; None to read all."""
    query = select(unit_changes.c.unit_seq).distinct().order_by(unit_changes.c.unit_seq)
    own = query.where(unit_changes.c.user_id == user_id, unit_changes.c.generation > generation)
    seqs = list(connection.execute(own).scalars())
    return None if _ALL in seqs else seqs


def _prune(connection: Connection, user_id: str) -> None:
    """Keep the entries of the last generations; readers further behind read everything."""
    own = unit_changes.c.user_id == user_id
    oldest = connection.execute(select(func.min(unit_changes.c.generation)).where(own)).scalar_one()
    now = connection.execute(select(users.c.generation).where(users.c.user_id == user_id)).scalar_one()
    if now - oldest > 2 * _KEPT:
        last = now - _KEPT
        connection.execute(delete(unit_changes).where(own, unit_changes.c.generation <= last))
        begin(connection, user_id, last)
