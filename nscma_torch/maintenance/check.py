"""Check the integrity of a store: every capability's rows must be consistent and refer only to rows of the same
user.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from sqlalchemy import Connection, func, select

from nscma_torch.core.capabilities import RowQueries, capabilities, tables_with
from nscma_torch.core.database.database import ALL_USERS, Database
from nscma_torch.core.database.schema import jobs, streams

_S = streams.c


def store_problems(database: Database, *, single: Collection[str] = ()) -> list[str]:
    """Return the problems of a store: what its database finds in the file, then those of its rows."""
    with database.read(ALL_USERS) as connection:
        unsound = database.problems(connection)
        return unsound + problems(connection, single=single)


def problems(
    connection: Connection, users: Collection[str] | None = None, *, single: Collection[str] = ()
) -> list[str]:
    """Return the problems found in the store, one sentence each; reads every row for all users, or for some.

    `single` contains the relations that have one object at a time.
    """
    rows = RowQueries(connection, users, single)
    found = [*_references(rows), *_lanes(rows)]
    for capability in capabilities():
        found += capability.problems(rows)
    return found


def _references(rows: RowQueries) -> Iterator[str]:
    """Check that every foreign key points to a row of the same user."""
    for table in reversed(tables_with("user_id")):
        for key in sorted(table.foreign_keys, key=lambda key: key.parent.name):
            target = _alias(key.column.table)
            if "user_id" not in target.c or key.column.name == "user_id":
                continue
            count = select(func.count()).select_from(table).join(target, target.c[key.column.name] == key.parent)
            n = rows(count.where(target.c.user_id != table.c.user_id), table.c.user_id).scalar_one()
            if n:
                yield f"{n} rows of {table.name} refer to {key.column.table.name} that belong to another user"


@cache
def _alias(table: Any) -> Any:
    """Return the one alias of a table; making its columns takes longer than a query on a small store."""
    return table.alias()


def _lanes(rows: RowQueries) -> Iterator[str]:
    """Check that each job belongs to one of its user's own streams, or to the user's state for an agent that has
    messages.
    """
    per_agent = [capability.per_agent for capability in capabilities() if capability.per_agent is not None]
    known: dict[str, set[str]] = {}
    for kept in per_agent:
        for key, owner in rows(select(kept.table.c.id, kept.table.c.user_id), kept.table.c.user_id):
            known.setdefault(owner, set()).add(key)
    for row in rows(select(_S.id, _S.user_id, _S.agent_id), _S.user_id):
        made = (row.id, *(kept.id_of(row.user_id, row.agent_id) for kept in per_agent))
        known.setdefault(row.user_id, set()).update(made)
    for row in rows(select(jobs.c.seq, jobs.c.user_id, jobs.c.lane), jobs.c.user_id):
        if row.lane not in known.get(row.user_id, ()):
            yield f"job {row.seq} of user {row.user_id!r} works on data that doesn't belong to that user"
