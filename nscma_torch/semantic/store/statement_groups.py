"""Groups of statements that are resolved together, and marks for groups to resolve again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, select, tuple_

from nscma_torch.core.database.database import pages
from nscma_torch.core.jobs import jobs
from nscma_torch.semantic.store import namespaces
from nscma_torch.semantic.store.fact_schema import unresolved as table

CURATE = "curate"  # the job that marked groups wait for; its namespace is theirs


class Key(NamedTuple):
    """A group's key: the subject's key after merges, the relation and the topic."""

    subject: str
    relation: str
    topic: str


_COLUMNS = (table.c.subject, table.c.relation, table.c.topic)


def mark(connection: Connection, namespace: str, keys: Iterable[Key]) -> None:
    """Mark groups as unresolved, and queue the job that resolves them."""
    wanted = sorted(set(keys))
    if not wanted:
        return
    user_id = namespaces.owner(connection, namespace).user_id
    for some in pages(wanted):
        marked = connection.execute(
            select(*_COLUMNS).where(table.c.namespace == namespace, tuple_(*_COLUMNS).in_(some))
        )
        known = {Key(*row) for row in marked}
        rows = [{"namespace": namespace, "user_id": user_id, **key._asdict()} for key in some if key not in known]
        if rows:
            connection.execute(table.insert(), rows)
    jobs.enqueue(connection, user_id, CURATE, [(namespace, None)])


def unresolved(connection: Connection, namespace: str) -> list[Key]:
    """Return the groups in a namespace that are marked unresolved, sorted."""
    return sorted(Key(*row) for row in connection.execute(select(*_COLUMNS).where(table.c.namespace == namespace)))


def clear(connection: Connection, namespace: str, keys: Iterable[Key]) -> None:
    """Remove the groups' marks; call this in the transaction that writes their facts."""
    for some in pages(sorted(set(keys))):
        connection.execute(table.delete().where(table.c.namespace == namespace, tuple_(*_COLUMNS).in_(some)))
