"""The rows of a hierarchy: its networks, and each node's units."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, delete, select, text

from nscma_torch.core.database.database import next_seq, pages
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.database.schema import drafts, episodes
from nscma_torch.core.jobs import jobs
from nscma_torch.episodic.index import units as unit_rows
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.episodic.log import streams
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.hierarchy.store.hierarchy_schema import VERSIONS, hierarchies, links, node_units, nodes, personas

NodeKey = tuple[int, int]  # level, number
INTEGRATE = "integrate"  # the job that extracted episodes wait for; its lane is their hierarchy


@dataclass(frozen=True, slots=True)
class LevelRows:
    """The rows of one network: node numbers; personas (id, node, label); links (a, b, weight, persona_a, persona_b,
    cut).
    """

    nodes: frozenset[int]
    personas: frozenset[tuple[int, int, int]]
    links: frozenset[tuple[int, int, float, int, int, bool]]
    next_id: int


@dataclass(frozen=True, slots=True)
class Stored:
    """A hierarchy as read from the store; `version` is 0 if it is not stored yet."""

    id: str
    user_id: str
    agent_id: str | None
    version: int
    levels: tuple[LevelRows, ...]


def hierarchy_id(user_id: str, agent_id: str | None) -> str:
    """Return the hierarchy id for a user and agent."""
    return derive_id("hierarchy", user_id, agent_id)


def enqueue(connection: Connection, rows: Iterable[Mapping[Any, Any]]) -> None:
    """Queue episodes (rows) for their hierarchies, except episodes with an expiration date, because a summary would
    outlive them.
    """
    subjects: dict[str, list[tuple[str, int | None]]] = {}
    for row in rows:
        if row["expires_at"] is not None:
            continue
        lane = hierarchy_id(row["user_id"], row["agent_id"])
        subjects.setdefault(row["user_id"], []).append((lane, row["seq"]))
    for user_id, wanted in subjects.items():
        jobs.enqueue(connection, user_id, INTEGRATE, wanted)


def version_of(connection: Connection, hierarchy: str) -> int:
    """Return the stored version, or 0 if there is none."""
    return connection.execute(select(hierarchies.c.version).where(hierarchies.c.id == hierarchy)).scalar() or 0


def load(connection: Connection, user_id: str, agent_id: str | None) -> Stored:
    """Load all networks for a user and agent."""
    key = hierarchy_id(user_id, agent_id)
    row = connection.execute(select(hierarchies).where(hierarchies.c.id == key)).first()
    if row is None:
        return Stored(key, user_id, agent_id, 0, ())
    levels = []
    for level, next_id in enumerate(decoded(row.next_ids, list)):
        found = [
            connection.execute(select(*columns).where(table.c.hierarchy_id == key, table.c.level == level)).all()
            for table, columns in _LEVEL.items()
        ]
        levels.append(
            LevelRows(
                frozenset(number for (number,) in found[0]),
                frozenset((i, node, label) for i, node, label in found[1]),
                frozenset((a, b, weight, pa, pb, cut) for a, b, weight, pa, pb, cut in found[2]),
                next_id,
            )
        )
    return Stored(key, user_id, agent_id, row.version, tuple(levels))


_LEVEL = {
    nodes: (nodes.c.number,),
    personas: (personas.c.id, personas.c.node, personas.c.label),
    links: (links.c.a, links.c.b, links.c.weight, links.c.persona_a, links.c.persona_b, links.c.cut),
}
_KEYS = {nodes: ("number",), personas: ("id",), links: ("a", "b")}


def save(connection: Connection, before: Stored, levels: Sequence[LevelRows]) -> Stored:
    """Write the differences from `before` as a new version; the units of removed nodes must already have been
    deleted.
    """
    version = _save_version(connection, before, [level.next_id for level in levels])
    for number in range(max(len(before.levels), len(levels))):
        old = before.levels[number] if number < len(before.levels) else _NO_ROWS
        new = levels[number] if number < len(levels) else _NO_ROWS
        if new is old:
            continue
        _replace(connection, before, number, nodes, {(n,) for n in old.nodes}, {(n,) for n in new.nodes})
        _replace(connection, before, number, personas, old.personas, new.personas)
        _replace(connection, before, number, links, old.links, new.links)
    return Stored(before.id, before.user_id, before.agent_id, version, tuple(levels))


_NO_ROWS = LevelRows(frozenset(), frozenset(), frozenset(), 0)


def _save_version(connection: Connection, before: Stored, next_ids: Sequence[int]) -> int:
    version = new_version(connection)
    values = {"version": version, "next_ids": json.dumps(next_ids)}
    if before.version:
        connection.execute(hierarchies.update().where(hierarchies.c.id == before.id).values(**values))
    else:
        owner = {"id": before.id, "user_id": before.user_id, "agent_id": before.agent_id}
        connection.execute(hierarchies.insert().values(**owner, **values))
    return version


def new_version(connection: Connection) -> int:
    """Return a version that no hierarchy has had, which distinguishes a rebuilt hierarchy from the old one."""
    return next_seq(connection, VERSIONS)


def _replace(
    connection: Connection,
    hierarchy: Stored,
    level: int,
    table: Table,
    old: Iterable[tuple[object, ...]],
    new: Iterable[tuple[object, ...]],
) -> None:
    keys, columns = _KEYS[table], [column.name for column in _LEVEL[table]]
    gone, come = sorted(set(old) - set(new)), sorted(set(new) - set(old))
    if gone:
        condition = " AND ".join(f"{key} = :{key}" for key in ("hierarchy_id", "level", *keys))
        place = {"hierarchy_id": hierarchy.id, "level": level}
        rows = [{**place, **dict(zip(columns, row, strict=True))} for row in gone]
        connection.execute(text(f"DELETE FROM {table.name} WHERE {condition}"), rows)
    if come:
        fixed = {"hierarchy_id": hierarchy.id, "level": level, "user_id": hierarchy.user_id}
        connection.execute(table.insert(), [{**fixed, **dict(zip(columns, row, strict=True))} for row in come])


def units_of(connection: Connection, hierarchy: str) -> dict[NodeKey, list[int]]:
    """Return the units (row numbers) of every node that has units."""
    query = select(node_units.c.level, node_units.c.number, node_units.c.unit_seq).where(
        node_units.c.hierarchy_id == hierarchy
    )
    found: dict[NodeKey, list[int]] = {}
    for level, number, seq in connection.execute(query.order_by(*query.selected_columns)):
        found.setdefault((level, number), []).append(seq)
    return found


def attach(connection: Connection, hierarchy: Stored, said: Mapping[NodeKey, Sequence[int]]) -> None:
    """Assign units to nodes."""
    rows = [
        {
            "hierarchy_id": hierarchy.id,
            "user_id": hierarchy.user_id,
            "level": level,
            "number": number,
            "unit_seq": seq,
        }
        for (level, number), seqs in said.items()
        for seq in seqs
    ]
    if rows:
        connection.execute(node_units.insert(), rows)


def drop_summaries(connection: Connection, unit_seqs: Sequence[int]) -> dict[str, int]:
    """Delete summary units; their nodes then wait for new summaries. Returns the number of deleted rows by table."""
    counts = _detach(connection, unit_seqs)
    for name, n in unit_rows.remove(connection, unit_seqs).items():
        counts[name] = counts.get(name, 0) + n
    return counts


def _detach(connection: Connection, unit_seqs: Sequence[int]) -> dict[str, int]:
    gone = 0
    for some in pages(unit_seqs):
        gone += connection.execute(delete(node_units).where(node_units.c.unit_seq.in_(some))).rowcount
    return {node_units.name: gone}


def above(connection: Connection, unit_seqs: Sequence[int]) -> list[int]:
    """Return the summary units of every node above one of these units, because they may contain its text."""
    found: set[int] = set()
    for some in pages(unit_seqs):
        bottom = select(node_units.c.hierarchy_id, node_units.c.level, node_units.c.number).where(
            node_units.c.unit_seq.in_(some)
        )
        over = bottom.cte("over", recursive=True)
        over = over.union(
            select(over.c.hierarchy_id, over.c.level + 1, personas.c.label).join(
                personas,
                (personas.c.hierarchy_id == over.c.hierarchy_id)
                & (personas.c.level == over.c.level)
                & (personas.c.node == over.c.number),
            )
        )
        query = select(node_units.c.unit_seq).join(
            over,
            (over.c.hierarchy_id == node_units.c.hierarchy_id)
            & (over.c.level == node_units.c.level)
            & (over.c.number == node_units.c.number),
        )
        found.update(connection.execute(query.where(over.c.level > 0)).scalars())
    return sorted(found)


def retire(connection: Connection, unit_seqs: Sequence[int]) -> dict[str, int]:
    """Remove units from their hierarchies, with every summary that used them, before the units are hidden or deleted.

    Their nodes are removed by the next integration, which is queued. Returns the number of deleted rows by table.
    """
    concerned = holding(connection, unit_seqs)
    counts = drop_summaries(connection, above(connection, unit_seqs))
    counts[node_units.name] += _detach(connection, unit_seqs)[node_units.name]
    counts[drafts.name] = 0
    for some in pages(unit_seqs):  # a draft may quote text that is not in a hierarchy yet
        owners = select(units.c.user_id).where(units.c.seq.in_(some))
        counts[drafts.name] += connection.execute(delete(drafts).where(drafts.c.user_id.in_(owners))).rowcount
    for hierarchy, user_id in concerned:
        row = hierarchies.c.id == hierarchy
        connection.execute(hierarchies.update().where(row).values(version=new_version(connection)))
        jobs.enqueue(connection, user_id, INTEGRATE, [(hierarchy, None)])
    return counts


def holding(connection: Connection, unit_seqs: Sequence[int]) -> list[tuple[str, str]]:
    """Return (id, user_id) for each hierarchy that contains one of these units."""
    found: set[tuple[str, str]] = set()
    for some in pages(unit_seqs):
        query = select(node_units.c.hierarchy_id, node_units.c.user_id).where(node_units.c.unit_seq.in_(some))
        found.update((hierarchy, user_id) for hierarchy, user_id in connection.execute(query))
    return sorted(found)


def reset(connection: Connection, hierarchy: str) -> None:
    """Delete a hierarchy with all its summaries; the chunks stay."""
    place = node_units.c.hierarchy_id == hierarchy
    summaries = connection.execute(select(node_units.c.unit_seq).where(place, node_units.c.level > 0)).scalars().all()
    drop_summaries(connection, summaries)
    for table in (node_units, links, personas, nodes, drafts):
        connection.execute(delete(table).where(table.c.hierarchy_id == hierarchy))
    connection.execute(delete(hierarchies).where(hierarchies.c.id == hierarchy))


def rebuild(connection: Connection, user_id: str, agent_id: str | None) -> int:
    """Delete a hierarchy and queue all encoded episodes to build a new one; return their number."""
    if version_of(connection, hierarchy_id(user_id, agent_id)):
        reset(connection, hierarchy_id(user_id, agent_id))
        streams.touch_user(connection, user_id)
    jobs.clear(connection, INTEGRATE, hierarchy_id(user_id, agent_id))
    own = episodes.c.agent_id.is_(None) if agent_id is None else episodes.c.agent_id == agent_id
    encoded = select(episodes.c.user_id, episodes.c.agent_id, episodes.c.seq, episodes.c.expires_at).where(
        episodes.c.user_id == user_id, own, episodes.c.encoded, episodes.c.status == "active"
    )
    lasting = encoded.where(episodes.c.expires_at.is_(None)).order_by(episodes.c.seq)
    rows = connection.execute(lasting).mappings().all()
    enqueue(connection, rows)
    return len(rows)


def draft(connection: Connection, hierarchy: Stored, written: Mapping[str, str]) -> None:
    """Store summaries by the hash of their input, until the integration that needs them is committed."""
    known = set(found_drafts(connection, hierarchy.id, list(written)))
    rows = [
        {"hierarchy_id": hierarchy.id, "user_id": hierarchy.user_id, "key": key, "text": summary}
        for key, summary in written.items()
        if key not in known
    ]
    if rows:
        connection.execute(drafts.insert(), rows)


def found_drafts(connection: Connection, hierarchy: str, keys: Sequence[str]) -> dict[str, str]:
    """Return the requested drafts that exist, by key."""
    found: dict[str, str] = {}
    for some in pages(keys):
        query = select(drafts.c.key, drafts.c.text).where(drafts.c.hierarchy_id == hierarchy, drafts.c.key.in_(some))
        found.update((key, summary) for key, summary in connection.execute(query))
    return found


def forget_drafts(connection: Connection, hierarchy: str) -> int:
    """Delete all drafts of a hierarchy; return their number."""
    return connection.execute(delete(drafts).where(drafts.c.hierarchy_id == hierarchy)).rowcount


def all_of(connection: Connection, user_id: str) -> list[tuple[str, str | None]]:
    """Return (id, agent_id) for each of a user's hierarchies."""
    query = select(hierarchies.c.id, hierarchies.c.agent_id).where(hierarchies.c.user_id == user_id)
    return [(key, agent) for key, agent in connection.execute(query.order_by(hierarchies.c.id))]


def of_episodes(connection: Connection, seqs: Sequence[int]) -> dict[str, str | None]:
    """Return the ids, with their agents, of the hierarchies that these episodes belong to; missing episodes are
    skipped.
    """
    found: dict[str, str | None] = {}
    for some in pages(seqs):
        query = select(episodes.c.user_id, episodes.c.agent_id).where(episodes.c.seq.in_(some)).distinct()
        found |= {hierarchy_id(user, agent): agent for user, agent in connection.execute(query)}
    return found
