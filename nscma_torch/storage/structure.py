"""The hierarchy as a graph over units: which summaries hold which, and what stands beside what on one level."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from nscma_torch.storage import hierarchies
from nscma_torch.storage.schema import links, nodes, personas


@dataclass(frozen=True, slots=True)
class Structure:
    """Units by row number.

    Attributes:
        children: of each unit of a cluster, the units of the nodes in it.
        peers: of each unit, those of the nodes that its own is linked to on its level.
        roots: units of the nodes that no cluster holds.
    """

    children: dict[int, tuple[int, ...]]
    peers: dict[int, tuple[int, ...]]
    roots: tuple[int, ...]


def structure(connection: Connection, user_id: str, agent_id: str | None) -> Structure:
    """The graph of one user and agent; empty where there is no hierarchy yet."""
    key = hierarchies.hierarchy_id(user_id, agent_id)
    said = hierarchies.units_of(connection, key)
    below: dict[tuple[int, int], list[int]] = {}
    held: set[tuple[int, int]] = set()
    query = select(personas.c.level, personas.c.label, personas.c.node).where(personas.c.hierarchy_id == key).distinct()
    for level, label, node in connection.execute(query.order_by(*query.selected_columns)):
        if (level + 1, label) in said:
            below.setdefault((level + 1, label), []).extend(said.get((level, node), ()))
            held.add((level, node))
    beside: dict[tuple[int, int], list[int]] = {}
    query = select(links.c.level, links.c.a, links.c.b).where(links.c.hierarchy_id == key)
    for level, a, b in connection.execute(query.order_by(*query.selected_columns)):
        beside.setdefault((level, a), []).extend(said.get((level, b), ()))
        beside.setdefault((level, b), []).extend(said.get((level, a), ()))
    known = select(nodes.c.level, nodes.c.number).where(nodes.c.hierarchy_id == key)
    tops = [(level, number) for level, number in connection.execute(known.order_by(*known.selected_columns))]
    return Structure(
        children={seq: tuple(dict.fromkeys(below.get(node, ()))) for node, own in said.items() for seq in own},
        peers={seq: tuple(dict.fromkeys(beside.get(node, ()))) for node, own in said.items() for seq in own},
        roots=tuple(seq for node in tops if node not in held for seq in said.get(node, ())),
    )
