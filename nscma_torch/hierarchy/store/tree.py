"""The hierarchy as public records."""

from __future__ import annotations

from sqlalchemy import Connection, select

from nscma_torch.core.records import Node
from nscma_torch.episodic.index import units as unit_rows
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.hierarchy.store.hierarchies import NodeKey
from nscma_torch.hierarchy.store.hierarchy_schema import nodes, personas


def tree(connection: Connection, user_id: str, agent_id: str | None) -> list[Node]:
    """Return every node in a hierarchy, chunks first; each level is ordered by node number."""
    key = hierarchies.hierarchy_id(user_id, agent_id)
    said = hierarchies.units_of(connection, key)
    units = unit_rows.load(connection, user_id, [seq for seqs in said.values() for seq in seqs])
    below = _members(connection, key)
    found: dict[NodeKey, Node] = {}
    query = select(nodes.c.level, nodes.c.number).where(nodes.c.hierarchy_id == key)
    for level, number in connection.execute(query.order_by(nodes.c.level, nodes.c.number)):
        own = [units[seq] for seq in said.get((level, number), ())]
        if level == 0 and not own:
            continue  # its chunk was deleted: it goes with the next integration
        members = [found[level - 1, m] for m in below.get((level, number), ()) if (level - 1, m) in found]
        episode_ids = own[0].episode_ids if level == 0 else [i for member in members for i in member.episode_ids]
        found[level, number] = Node(
            own[0].id if level == 0 else derive_id("node", key, level, number),
            level,
            "\n".join(unit.text for unit in own),
            tuple(member.id for member in members),
            tuple(dict.fromkeys(episode_ids)),
            stale=not own,
        )
    return list(found.values())


def _members(connection: Connection, key: str) -> dict[NodeKey, list[int]]:
    query = select(personas.c.level, personas.c.label, personas.c.node).where(personas.c.hierarchy_id == key)
    found: dict[NodeKey, list[int]] = {}
    for level, label, node in connection.execute(query.distinct().order_by(*query.selected_columns)):
        found.setdefault((level + 1, label), []).append(node)
    return found
