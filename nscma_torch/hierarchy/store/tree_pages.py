"""Paged access to the hierarchy: its roots, or the members of one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, func, select, tuple_

from nscma_torch.core.database.schema import episodes
from nscma_torch.episodic.index.unit_schema import unit_sources, units
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.hierarchy.store.hierarchies import NodeKey
from nscma_torch.hierarchy.store.hierarchy_schema import node_units, nodes, personas

_N, _P, _U = nodes.c, personas.c, units.c


@dataclass(frozen=True, slots=True)
class Twig:
    """A node as shown on the page. `number` identifies it within its level; `text` is empty until it is written.

    `members` is the number of nodes below; `message` is the message that a chunk (level 0) comes from.
    """

    level: int
    number: int
    text: str
    members: int
    message: str | None


def page(
    connection: Connection, user_id: str, agent_id: str | None, *, below: NodeKey | None, limit: int, offset: int
) -> tuple[list[Twig], int]:
    """Return a node's members, by default the roots (clusters under no other cluster, highest first), and their
    number.
    """
    key = hierarchies.hierarchy_id(user_id, agent_id)
    query = _roots(key) if below is None else _members(key, below)
    total = connection.execute(select(func.count()).select_from(query.order_by(None).subquery())).scalar_one()
    found = [(int(level), int(number)) for level, number in connection.execute(query.limit(limit).offset(offset))]
    texts, messages = _said(connection, key, found)
    sizes = _sizes(connection, key, found)
    return [Twig(*one, texts.get(one, ""), sizes.get(one, 0), messages.get(one)) for one in found], int(total)


def levels(connection: Connection, user_id: str, agent_id: str | None) -> list[int]:
    """Return the number of nodes on each level, beginning with the chunks."""
    key = hierarchies.hierarchy_id(user_id, agent_id)
    query = select(_N.level, func.count()).where(_N.hierarchy_id == key).group_by(_N.level).order_by(_N.level)
    return [int(number) for _, number in connection.execute(query)]


def _roots(key: str) -> Select[Any]:
    above = nodes.alias()
    inside = (
        exists()
        .where(_P.hierarchy_id == key, _P.level == _N.level, _P.node == _N.number)
        .where(above.c.hierarchy_id == key, above.c.level == _P.level + 1, above.c.number == _P.label)
    )
    query = select(_N.level, _N.number).where(_N.hierarchy_id == key, _N.level > 0, ~inside)
    return query.order_by(_N.level.desc(), _N.number)


def _members(key: str, node: NodeKey) -> Select[Any]:
    level, number = node
    query = select(_P.level, _P.node).where(_P.hierarchy_id == key, _P.level == level - 1, _P.label == number)
    return query.distinct().order_by(_P.node)


def _said(connection: Connection, key: str, wanted: Sequence[NodeKey]) -> tuple[dict[NodeKey, str], dict[NodeKey, str]]:
    """Return the texts of nodes, and the message ids of chunks."""
    at = node_units.c
    query = select(at.level, at.number, _U.seq, _U.text).join(units, _U.seq == at.unit_seq)
    query = query.where(at.hierarchy_id == key, _among(at.level, at.number, wanted)).order_by(_U.seq)
    texts: dict[NodeKey, str] = {}
    chunks: dict[int, NodeKey] = {}
    for row in connection.execute(query):
        place = (row.level, row.number)
        texts[place] = f"{texts[place]}\n{row.text}" if place in texts else row.text
        if row.level == 0:
            chunks[row.seq] = place
    of = select(unit_sources.c.unit_seq, episodes.c.id).join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
    sources = connection.execute(of.where(unit_sources.c.unit_seq.in_(chunks)))
    return texts, {chunks[seq]: episode_id for seq, episode_id in sources}


def _sizes(connection: Connection, key: str, wanted: Sequence[NodeKey]) -> dict[NodeKey, int]:
    above = _P.level + 1
    query = select(above, _P.label, func.count(_P.node.distinct())).where(_P.hierarchy_id == key)
    query = query.where(_among(above, _P.label, wanted)).group_by(_P.level, _P.label)
    return {(int(level), int(number)): int(size) for level, number, size in connection.execute(query)}


def _among(level: ColumnElement[int], number: ColumnElement[int], wanted: Sequence[NodeKey]) -> ColumnElement[bool]:
    return tuple_(level, number).in_(wanted)
