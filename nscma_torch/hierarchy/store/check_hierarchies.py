"""Check the integrity of hierarchies: every network's rows are consistent, and every node has its units."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import func, or_, select

from nscma_torch.core.capabilities import RowQueries
from nscma_torch.episodic.index.unit_schema import unit_sources, units
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.hierarchy.store.hierarchies import LevelRows
from nscma_torch.hierarchy.store.hierarchy_schema import hierarchies as hierarchies_table
from nscma_torch.hierarchy.store.hierarchy_schema import links, node_units, nodes, personas


def problems(rows: RowQueries) -> Iterator[str]:
    """Yield the problems found in the hierarchies, one sentence each."""
    yield from _scopes(rows)
    yield from _said(rows)
    for row in rows(select(hierarchies_table).order_by(hierarchies_table.c.id), hierarchies_table.c.user_id):
        name = f"hierarchy {row.id}"
        if row.id != hierarchies.hierarchy_id(row.user_id, row.agent_id):
            yield f"{name} doesn't have the id derived from its user and agent"
            continue
        try:
            next_ids = json.loads(row.next_ids)
        except ValueError:
            next_ids = None
        if not isinstance(next_ids, list) or not all(isinstance(next_id, int) for next_id in next_ids):
            yield f"{name} has invalid next ids"
            continue
        for table in (nodes, node_units, personas, links):
            strange = or_(table.c.level >= len(next_ids), table.c.user_id != row.user_id)
            query = select(func.count()).select_from(table).where(table.c.hierarchy_id == row.id, strange)
            n = rows.connection.execute(query).scalar_one()
            if n:
                yield f"{name} has {n} {table.name} from another user or from a level that doesn't exist"
        stored = hierarchies.load(rows.connection, row.user_id, row.agent_id)
        for level, stored_level in enumerate(stored.levels):
            yield from (f"level {level} of {name}: {problem}" for problem in _network(stored_level))
            if level:
                labels = {label for _, _, label in stored.levels[level - 1].personas}
                empty = stored_level.nodes - labels
                yield from (f"level {level} of {name}: node {number} has no members" for number in sorted(empty))


def _scopes(rows: RowQueries) -> Iterator[str]:
    """Check that summaries have the id and agent of their hierarchy."""
    of_node = select(units.c.id).join(node_units, node_units.c.unit_seq == units.c.seq)
    of_node = of_node.join(hierarchies_table, hierarchies_table.c.id == node_units.c.hierarchy_id)
    other_agent = units.c.agent_id.is_distinct_from(hierarchies_table.c.agent_id)
    strange = or_(units.c.stream_id != hierarchies_table.c.id, other_agent)
    for (unit,) in rows(of_node.where(units.c.kind == "summary", strange), units.c.user_id):
        yield f"summary {unit} belongs to a different hierarchy than its node"


def _network(rows: LevelRows) -> Iterator[str]:
    owner = {persona: node for persona, node, _ in rows.personas}
    strangers = sorted(set(owner.values()) - rows.nodes)
    if strangers:
        yield f"personas of nodes that don't exist: {strangers[:3]}"
    bare = sorted(rows.nodes - set(owner.values()))
    if bare:
        yield f"nodes without a persona: {bare[:3]}"
    if owner and max(owner) >= rows.next_id:
        yield f"persona {max(owner)} has an id that was not assigned yet"
    for a, b, weight, persona_a, persona_b, _ in sorted(rows.links):
        if not (a < b and {a, b} <= rows.nodes and weight > 0):
            yield f"the link {a}-{b} with weight {weight} is invalid"
        elif (owner.get(persona_a), owner.get(persona_b)) != (a, b):
            yield f"the link {a}-{b} doesn't join personas of its nodes"


def _said(rows: RowQueries) -> Iterator[str]:
    """Check that nodes on level 0 have one chunk and higher nodes a summary, and that every summary has its node."""
    query = (
        select(node_units.c.level, node_units.c.number, units.c.id, units.c.kind, units.c.status, nodes.c.user_id)
        .join(units, units.c.seq == node_units.c.unit_seq)
        .outerjoin(
            nodes,
            (nodes.c.hierarchy_id == node_units.c.hierarchy_id)
            & (nodes.c.level == node_units.c.level)
            & (nodes.c.number == node_units.c.number)
            & (nodes.c.user_id == units.c.user_id),
        )
    )
    for level, number, unit_id, kind, status, user_id in rows(query, units.c.user_id):
        if user_id is None:
            yield f"unit {unit_id} belongs to node {number} on level {level}, which doesn't exist"
        if kind != ("summary" if level else "chunk") or status not in ("active", "archived"):
            yield f"node {number} on level {level} has the {status} {kind} {unit_id}"
    loose = select(units.c.id).where(
        units.c.kind == "summary",
        units.c.seq.not_in(select(node_units.c.unit_seq)),
        units.c.seq.not_in(select(unit_sources.c.unit_seq)),  # of one message by itself
    )
    for unit_id in rows(loose, units.c.user_id).scalars():
        yield f"summary {unit_id} belongs to no node and no message"
