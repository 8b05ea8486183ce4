"""Queue the clusters in a hierarchy that have no summary."""

from __future__ import annotations

from sqlalchemy import Connection, select

from nscma_torch.core.jobs import jobs
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.hierarchy.store.hierarchies import INTEGRATE
from nscma_torch.hierarchy.store.hierarchy_schema import node_units, nodes


def queue_stale(connection: Connection, user_id: str) -> int:
    """Queue the user's hierarchies that have clusters without a summary; return the number of those clusters."""
    found = 0
    for hierarchy, _ in hierarchies.all_of(connection, user_id):
        said = (
            (node_units.c.hierarchy_id == nodes.c.hierarchy_id)
            & (node_units.c.level == nodes.c.level)
            & (node_units.c.number == nodes.c.number)
        )
        query = select(nodes.c.level, nodes.c.number).outerjoin(node_units, said)
        query = query.where(nodes.c.hierarchy_id == hierarchy, node_units.c.unit_seq.is_(None))
        bare = connection.execute(query).all()
        if bare:
            jobs.enqueue(connection, user_id, INTEGRATE, [(hierarchy, None)])
        found += sum(level > 0 for level, _ in bare)
    return found
