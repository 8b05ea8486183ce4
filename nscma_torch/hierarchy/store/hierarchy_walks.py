"""The hierarchy as a graph over units: the members of summaries, and the links within a level.

Units are identified by their row numbers. `children` and `peers` read only the rows around the given units, so a walk's
cost depends on the nodes that it visits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlalchemy import Connection, select

from nscma_torch.core.database.database import pages
from nscma_torch.hierarchy.store.hierarchies import NodeKey, hierarchy_id, units_of
from nscma_torch.hierarchy.store.hierarchy_schema import links, node_units, personas


def roots(connection: Connection, user_id: str, agent_id: str | None) -> list[int]:
    """Return the units of the nodes that are under no summary, from the bottom up; empty if there is no hierarchy."""
    key = hierarchy_id(user_id, agent_id)
    said = units_of(connection, key)
    query = select(personas.c.level, personas.c.node, personas.c.label).where(personas.c.hierarchy_id == key)
    held = {(level, node) for level, node, label in connection.execute(query) if (level + 1, label) in said}
    return [seq for node, own in said.items() if node not in held for seq in own]


def children(connection: Connection, user_id: str, agent_id: str | None, seqs: Sequence[int]) -> dict[int, list[int]]:
    """Return the units directly below each given unit that is a summary, in node order."""

    def below(key: str, level: int, numbers: Sequence[int]) -> Iterable[tuple[int, NodeKey]]:
        query = select(personas.c.label, personas.c.node).where(
            personas.c.hierarchy_id == key, personas.c.level == level - 1, personas.c.label.in_(numbers)
        )
        return ((label, (level - 1, node)) for label, node in connection.execute(query))

    return _led(connection, hierarchy_id(user_id, agent_id), seqs, below)


def peers(connection: Connection, user_id: str, agent_id: str | None, seqs: Sequence[int]) -> dict[int, list[int]]:
    """Return the units of the nodes that are linked to each unit's node on its level, in node order."""

    def beside(key: str, level: int, numbers: Sequence[int]) -> Iterable[tuple[int, NodeKey]]:
        query = select(links.c.a, links.c.b).where(links.c.hierarchy_id == key, links.c.level == level)
        for a, b in connection.execute(query.where(links.c.a.in_(numbers))):
            yield a, (level, b)
        for a, b in connection.execute(query.where(links.c.b.in_(numbers))):
            yield b, (level, a)

    return _led(connection, hierarchy_id(user_id, agent_id), seqs, beside)


def _led(
    connection: Connection,
    key: str,
    seqs: Sequence[int],
    step: Callable[[str, int, Sequence[int]], Iterable[tuple[int, NodeKey]]],
) -> dict[int, list[int]]:
    """Return the units of the nodes reached by `step` from the given units' nodes, one level at a time."""
    asked: dict[NodeKey, list[int]] = {}
    query = select(node_units.c.level, node_units.c.number, node_units.c.unit_seq).where(
        node_units.c.hierarchy_id == key
    )
    for some in pages(seqs):
        for level, number, seq in connection.execute(query.where(node_units.c.unit_seq.in_(some))):
            asked.setdefault((level, number), []).append(seq)
    reached: dict[NodeKey, set[NodeKey]] = {}
    for level in sorted({level for level, _ in asked}):
        for some in pages(sorted(number for at, number in asked if at == level)):
            for number, node in step(key, level, some):
                reached.setdefault((level, number), set()).add(node)
    said: dict[NodeKey, list[int]] = {}
    for level in sorted({level for own in reached.values() for level, _ in own}):
        for some in pages(sorted({number for own in reached.values() for at, number in own if at == level})):
            own = query.where(node_units.c.level == level, node_units.c.number.in_(some))
            for at, number, seq in connection.execute(own.order_by(node_units.c.unit_seq)):
                said.setdefault((at, number), []).append(seq)
    return {
        seq: [other for node in sorted(own) for other in said.get(node, ())]
        for place, own in reached.items()
        for seq in asked[place]
    }
