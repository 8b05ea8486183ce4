"""Find the messages below summaries."""

from __future__ import annotations

from collections.abc import Sequence, Set

from sqlalchemy import Connection, select

from nscma_torch.core.database.database import pages
from nscma_torch.core.database.schema import episodes
from nscma_torch.episodic.index.unit_schema import unit_sources
from nscma_torch.hierarchy.store.hierarchy_schema import node_units, personas


def leaves(connection: Connection, user_id: str, summaries: Sequence[int]) -> dict[int, list[str]]:
    """Return the ids of the episodes below each of these summaries (row numbers), in order of arrival."""
    places: dict[int, tuple[str, int, int]] = {}
    query = select(node_units.c.unit_seq, node_units.c.hierarchy_id, node_units.c.level, node_units.c.number)
    for some in pages(summaries):
        own = query.where(node_units.c.unit_seq.in_(some), node_units.c.user_id == user_id)
        places |= {row.unit_seq: (row.hierarchy_id, row.level, row.number) for row in connection.execute(own)}
    known: dict[int, str] = {}
    below: dict[tuple[str, int, int], set[int]] = {}
    for hierarchy in dict.fromkeys(hierarchy for hierarchy, _, _ in places.values()):
        asked = {(level, number) for own, level, number in places.values() if own == hierarchy}
        below |= {(hierarchy, *node): own for node, own in _episodes_below(connection, hierarchy, asked, known).items()}
    return {seq: [known[i] for i in sorted(below[place])] for seq, place in places.items() if below[place]}


def _episodes_below(
    connection: Connection, hierarchy: str, asked: Set[tuple[int, int]], known: dict[int, str]
) -> dict[tuple[int, int], set[int]]:
    """Return the episodes (row numbers) below each of these nodes (level, number), and add their ids to `known`.

    Each level is read once for all nodes, because most episodes below one summary are also below another.
    """
    members: dict[tuple[int, int], list[tuple[int, int]]] = {}
    reached = set(asked)
    for level in range(max((level for level, _ in asked), default=0), 0, -1):
        inside = select(personas.c.label, personas.c.node).where(
            personas.c.hierarchy_id == hierarchy, personas.c.level == level - 1
        )
        for some in pages(sorted(number for at, number in reached if at == level)):
            for label, node in connection.execute(inside.where(personas.c.label.in_(some))):
                members.setdefault((level, label), []).append((level - 1, node))
                reached.add((level - 1, node))
    below: dict[tuple[int, int], set[int]] = {}
    said = (
        select(node_units.c.number, episodes.c.seq, episodes.c.id)
        .join(unit_sources, unit_sources.c.unit_seq == node_units.c.unit_seq)
        .join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
        .where(node_units.c.hierarchy_id == hierarchy, node_units.c.level == 0)
    )
    for some in pages(sorted(number for at, number in reached if at == 0)):
        for number, seq, episode_id in connection.execute(said.where(node_units.c.number.in_(some))):
            below.setdefault((0, number), set()).add(seq)
            known[seq] = episode_id
    for level, number in sorted(reached):
        if level:
            own = [below.get(member, set()) for member in members.get((level, number), ())]
            below[level, number] = set().union(*own)
    return {node: below.get(node, set()) for node in asked}
