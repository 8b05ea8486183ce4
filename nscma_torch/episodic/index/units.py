"""Retrieval units, each with its vector, its lexical postings and its source episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, select

from nscma_torch.core.capabilities import capabilities, tables_with
from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.database import next_seqs, pages
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.database.schema import episodes, streams
from nscma_torch.core.records import OF_ONE_MESSAGE, Episode, Scope, Unit
from nscma_torch.episodic.index import unit_changes
from nscma_torch.episodic.index.unit_schema import postings, unit_sources, units, vectors
from nscma_torch.episodic.log.streams import derive_id

MADE_OF_MESSAGES = ("atomic_fact", "triple", "summary")  # kinds of units that are made when a message is read

# Statements of every message are made once: making one costs as much as running it.
_INSERT_UNITS, _INSERT_SOURCES = units.insert(), unit_sources.insert()
_INSERT_VECTORS, _INSERT_POSTINGS = vectors.insert(), postings.insert()


@dataclass(frozen=True, slots=True)
class NewUnit:
    """A unit to store. `terms` are its lexical terms; `vector` is packed (see `packed_vectors`), or None if the unit is
    not embedded.

    `origin` is the source episode's row, or a substitute whose `seq` is None; a summary's provenance, for example, is
    its hierarchy.
    """

    kind: str
    text: str
    origin: Mapping[str, Any]
    start: int
    end: int
    terms: Sequence[str]
    vector: bytes | None


def unit_id(origin: str, kind: str, start: int, end: int, text: str) -> str:
    """Return a unit's id, derived from its origin's id (a message or substitute), its offsets and its text."""
    return derive_id("unit", origin, kind, start, end, text)


def node_key(hierarchy: str, *place: object) -> str:
    """Return a hierarchy node's id, derived from its level and number, for use as the origin of its units."""
    return derive_id("node", hierarchy, *place)


def origin_alone(key: str, scope: Scope, at: int) -> dict[str, Any]:
    """Build a substitute for an episode's row, as the origin of units that have no episode, at a time (microseconds).

    Its `key` serves as the units' stream, with a separate session, so the units have no neighbours in time.
    """
    return {
        "id": key,
        "seq": None,
        "user_id": scope.user_id,
        "agent_id": scope.agent_id,
        "run_id": None,
        "stream_id": key,
        "position": 0,
        "session": key,
        "role": "memory",
        "name": None,
        "occurred_at": at,
        "recorded_at": at,
        "expires_at": None,
        "importance": 0.0,
        "status": "active",
    }


def insert(connection: Connection, new: Sequence[NewUnit]) -> list[int]:
    """Store units with their vectors, postings and provenance; return their row numbers."""
    if not new:
        return []
    seqs = next_seqs(connection, "units", len(new))
    rows = [_row(unit, seq) for unit, seq in zip(new, seqs, strict=True)]
    connection.execute(_INSERT_UNITS, rows)
    sources = [
        {"unit_seq": seq, "episode_seq": unit.origin["seq"], "user_id": unit.origin["user_id"]}
        for unit, seq in zip(new, seqs, strict=True)
        if unit.origin["seq"] is not None
    ]
    if sources:
        connection.execute(_INSERT_SOURCES, sources)
    embedded = [
        {"unit_seq": seq, "user_id": unit.origin["user_id"], "vector": unit.vector}
        for unit, seq in zip(new, seqs, strict=True)
        if unit.vector is not None
    ]
    if embedded:
        connection.execute(_INSERT_VECTORS, embedded)
    entries = [
        {"user_id": unit.origin["user_id"], "term": term, "unit_seq": seq, "tf": tf}
        for unit, seq in zip(new, seqs, strict=True)
        for term, tf in Counter(unit.terms).items()
    ]
    if entries:
        connection.execute(_INSERT_POSTINGS, entries)
    return list(seqs)


def add_sources(connection: Connection, user_id: str, seqs: Iterable[int], episode_seqs: Collection[int]) -> None:
    """Add episodes to units' sources."""
    rows = [{"unit_seq": seq, "episode_seq": one, "user_id": user_id} for seq in seqs for one in sorted(episode_seqs)]
    if rows:
        connection.execute(_INSERT_SOURCES, rows)


def _row(unit: NewUnit, seq: int) -> dict[str, Any]:
    episode = unit.origin
    occurred = episode["recorded_at"] if episode["occurred_at"] is None else episode["occurred_at"]
    return {
        "seq": seq,
        "id": unit_id(episode["id"], unit.kind, unit.start, unit.end, unit.text),
        **{key: episode[key] for key in ("user_id", "agent_id", "run_id", "stream_id", "position", "session")},
        **{key: episode[key] for key in ("role", "name", "expires_at", "importance")},
        "kind": unit.kind,
        "text": unit.text,
        "start": unit.start,
        "end": unit.end,
        "length": len(unit.terms),
        "occurred_at": occurred,
        "status": episode["status"],
    }


def load(connection: Connection, user_id: str, seqs: Sequence[int]) -> dict[int, Unit]:
    """Return the user's units with these row numbers, including their provenance."""
    return {seq: unit for some in pages(seqs) for seq, unit in _load(connection, user_id, some).items()}


def _load(connection: Connection, user_id: str, seqs: Sequence[int]) -> dict[int, Unit]:
    sources: dict[int, list[str]] = {}
    metadata: dict[int, str] = {}
    offsets: dict[int, int | None] = {}
    query = (
        select(unit_sources.c.unit_seq, episodes.c.id, episodes.c.metadata, episodes.c.utc_offset)
        .join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
        .where(unit_sources.c.unit_seq.in_(seqs), unit_sources.c.user_id == user_id)
        .order_by(unit_sources.c.unit_seq, episodes.c.seq)
    )
    for row in connection.execute(query):
        sources.setdefault(row.unit_seq, []).append(row.id)
        metadata.setdefault(row.unit_seq, row.metadata)
        offsets.setdefault(row.unit_seq, row.utc_offset)
    for capability in capabilities():
        missing = [seq for seq in seqs if seq not in sources]
        if missing and capability.message_ids is not None:
            sources.update(capability.message_ids(connection, user_id, missing))
    found = (
        select(units, streams.c.source)
        .outerjoin(streams, streams.c.id == units.c.stream_id)
        .where(units.c.seq.in_(seqs), units.c.user_id == user_id)
    )
    return {
        row["seq"]: Unit(
            id=row["id"],
            scope=Scope(row["user_id"], row["agent_id"], row["run_id"]),
            kind=row["kind"],
            text=row["text"],
            episode_ids=tuple(sources.get(row["seq"], ())),
            occurred_at=from_micros(row["occurred_at"], offsets.get(row["seq"])),
            role=row["role"],
            name=row["name"],
            session=row["session"] if row["kind"] in OF_ONE_MESSAGE else None,
            source=row["source"],
            start=row["start"],
            end=row["end"],
            metadata=decoded(metadata.get(row["seq"], "{}")),
        )
        for row in connection.execute(found).mappings()
    }


def seqs_of_episode(connection: Connection, episode_seq: int, kind: str | None = None) -> list[int]:
    """Return the row numbers of the units made from an episode."""
    query = (
        select(units.c.seq)
        .join(unit_sources, unit_sources.c.unit_seq == units.c.seq)
        .where(unit_sources.c.episode_seq == episode_seq)
        .order_by(units.c.seq)
    )
    return list(connection.execute(query if kind is None else query.where(units.c.kind == kind)).scalars())


def sources_of(connection: Connection, seqs: Collection[int]) -> dict[int, list[int]]:
    """Return the episodes (row numbers, ascending) that each of these units is derived from."""
    found: dict[int, list[int]] = {}
    for some in pages(sorted(seqs)):
        query = select(unit_sources.c.unit_seq, unit_sources.c.episode_seq).where(unit_sources.c.unit_seq.in_(some))
        for unit, episode in connection.execute(query.order_by(unit_sources.c.unit_seq, unit_sources.c.episode_seq)):
            found.setdefault(unit, []).append(episode)
    return found


def active_chunks(connection: Connection, episode_seqs: Sequence[int]) -> dict[int, list[int]]:
    """Return the active chunks (row numbers, in order) by episode, for the given episodes that have any."""
    found: dict[int, list[int]] = {}
    for some in pages(sorted(episode_seqs)):
        query = (
            select(unit_sources.c.episode_seq, units.c.seq)
            .join(units, units.c.seq == unit_sources.c.unit_seq)
            .where(unit_sources.c.episode_seq.in_(some), units.c.kind == "chunk", units.c.status == "active")
            .order_by(unit_sources.c.episode_seq, units.c.start, units.c.seq)
        )
        for episode_seq, seq in connection.execute(query):
            found.setdefault(episode_seq, []).append(seq)
    return found


def chunks_of(connection: Connection, user_id: str, episode_ids: Sequence[str]) -> dict[str, list[int]]:
    """Return the active chunks (row numbers) for each of the user's given episodes, in text order."""
    found: dict[str, list[int]] = {}
    for some in pages(list(dict.fromkeys(episode_ids))):
        query = (
            select(episodes.c.id, units.c.seq)
            .join(unit_sources, unit_sources.c.episode_seq == episodes.c.seq)
            .join(units, units.c.seq == unit_sources.c.unit_seq)
            .where(episodes.c.user_id == user_id, episodes.c.id.in_(some))
            .where(units.c.kind == "chunk", units.c.status == "active")
            .order_by(units.c.seq)
        )
        for episode_id, seq in connection.execute(query):
            found.setdefault(episode_id, []).append(seq)
    return found


def set_status(connection: Connection, seqs: Sequence[int], status: str) -> None:
    """Change the status of units; call `touch_user` in the same transaction."""
    unit_changes.note(connection, seqs)
    for some in pages(seqs):
        connection.execute(units.update().where(units.c.seq.in_(some)).values(status=status))


def set_importance(connection: Connection, seqs: Sequence[int], importance: float) -> None:
    """Change the importance of units; call `touch_user` in the same transaction."""
    unit_changes.note(connection, seqs)
    for some in pages(seqs):
        connection.execute(units.update().where(units.c.seq.in_(some)).values(importance=importance))


def remove(connection: Connection, seqs: Sequence[int]) -> dict[str, int]:
    """Delete units with everything derived from them; return the number of deleted rows by table. Call `touch_user` as
    well.
    """
    unit_changes.note(connection, seqs)
    derived = [table for table in tables_with("unit_seq") if table.c.unit_seq.foreign_keys]
    counts = dict.fromkeys((*(table.name for table in derived), units.name), 0)
    for some in pages(seqs):
        for table in derived:
            counts[table.name] += connection.execute(delete(table).where(table.c.unit_seq.in_(some))).rowcount
        counts[units.name] += connection.execute(delete(units).where(units.c.seq.in_(some))).rowcount
    return counts


def count(connection: Connection, user_id: str | None = None) -> dict[str, int]:
    """Count active units by kind."""
    query = select(units.c.kind, func.count()).where(units.c.status == "active").group_by(units.c.kind)
    if user_id is not None:
        query = query.where(units.c.user_id == user_id)
    return {row[0]: row[1] for row in connection.execute(query)}


def texts(connection: Connection, seqs: Sequence[int]) -> dict[int, str]:
    """Return the text of each unit, by row number."""
    query = select(units.c.seq, units.c.text)
    return {seq: text for some in pages(seqs) for seq, text in connection.execute(query.where(units.c.seq.in_(some)))}


@dataclass(frozen=True, slots=True)
class Weight:
    """Attributes that a summary inherits from a unit below it: the time it was said (microseconds), and its
    importance.
    """

    occurred_at: int
    importance: float


def weights(connection: Connection, seqs: Sequence[int]) -> dict[int, Weight]:
    """Return the weight of each unit, by row number."""
    query = select(units.c.seq, units.c.occurred_at, units.c.importance)
    found = (row for some in pages(seqs) for row in connection.execute(query.where(units.c.seq.in_(some))))
    return {row.seq: Weight(row.occurred_at, row.importance) for row in found}


def ordinals(connection: Connection, stream_id: str) -> dict[int, int]:
    """Return each chunk's position within its stream (0, 1, …), by row number."""
    query = select(units.c.seq).where(units.c.stream_id == stream_id, units.c.kind == "chunk")
    in_order = connection.execute(query.order_by(units.c.position, units.c.start, units.c.seq)).scalars()
    return {seq: place for place, seq in enumerate(in_order)}


def stream_of(connection: Connection, seqs: Sequence[int]) -> dict[int, str]:
    """Return the stream of each unit, by row number."""
    query = select(units.c.seq, units.c.stream_id)
    return {seq: s for some in pages(seqs) for seq, s in connection.execute(query.where(units.c.seq.in_(some)))}


def unit_of(episode: Episode) -> Unit:
    """Build a unit from a whole message."""
    return Unit(
        id=episode.id,
        scope=episode.scope,
        kind="chunk",
        text=episode.text,
        episode_ids=(episode.id,),
        occurred_at=episode.occurred_at,
        role=episode.role,
        name=episode.name,
        session=episode.session,
        source=episode.source,
        end=len(episode.text),
        metadata=episode.metadata,
    )
