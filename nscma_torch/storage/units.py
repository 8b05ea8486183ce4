"""Units: what retrieval finds, each with its vector, its lexical postings and the episodes it came from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sqlalchemy import Connection, delete, func, select

from nscma_torch.errors import VectorError
from nscma_torch.records import Scope, Unit
from nscma_torch.storage.clock import from_micros
from nscma_torch.storage.database import next_seq, pages
from nscma_torch.storage.schema import episodes, postings, streams, unit_sources, units, vectors
from nscma_torch.storage.streams import derive_id


@dataclass(frozen=True, slots=True)
class NewUnit:
    """A unit about to be stored. `terms` are its lexical terms, `vector` is [d] or None where it is not embedded."""

    kind: str
    text: str
    episode: Mapping[str, Any]  # the row it came from
    start: int
    end: int
    terms: Sequence[str]
    vector: torch.Tensor | None


def insert(connection: Connection, new: Sequence[NewUnit]) -> list[str]:
    """Store units with their vectors, postings and provenance; returns their ids.

    Raises `VectorError` for NaN or infinity, before anything is written.
    """
    if not new:
        return []
    blobs = [None if unit.vector is None else pack_vector(unit.vector) for unit in new]
    first = next_seq(connection, "units", len(new))
    rows = [_row(unit, first + i) for i, unit in enumerate(new)]
    connection.execute(units.insert(), rows)
    connection.execute(
        unit_sources.insert(),
        [
            {"unit_seq": first + i, "episode_seq": unit.episode["seq"], "user_id": unit.episode["user_id"]}
            for i, unit in enumerate(new)
        ],
    )
    embedded = [
        {"unit_seq": first + i, "user_id": new[i].episode["user_id"], "vector": blob}
        for i, blob in enumerate(blobs)
        if blob is not None
    ]
    if embedded:
        connection.execute(vectors.insert(), embedded)
    entries = [
        {"user_id": unit.episode["user_id"], "term": term, "unit_seq": first + i, "tf": tf}
        for i, unit in enumerate(new)
        for term, tf in Counter(unit.terms).items()
    ]
    if entries:
        connection.execute(postings.insert(), entries)
    return [row["id"] for row in rows]


def _row(unit: NewUnit, seq: int) -> dict[str, Any]:
    episode = unit.episode
    occurred = episode["recorded_at"] if episode["occurred_at"] is None else episode["occurred_at"]
    return {
        "seq": seq,
        "id": derive_id("unit", episode["id"], unit.kind, unit.start, unit.end, unit.text),
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


def pack_vector(vector: torch.Tensor) -> bytes:
    """Bytes of a vector [d]: little-endian float32. Raises `VectorError` for NaN or infinity."""
    if not bool(torch.isfinite(vector).all()):
        raise VectorError(
            "the embedder returned NaN or infinity; nothing was stored. Check the model's weights and dtype"
        )
    array: np.ndarray[Any, np.dtype[np.float32]] = vector.detach().to("cpu", torch.float32).numpy()
    return array.astype("<f4").tobytes()


def load(connection: Connection, user_id: str, seqs: Sequence[int]) -> dict[int, Unit]:
    """The user's units with these row numbers, provenance included."""
    return {seq: unit for some in pages(seqs) for seq, unit in _load(connection, user_id, some).items()}


def _load(connection: Connection, user_id: str, seqs: Sequence[int]) -> dict[int, Unit]:
    sources: dict[int, list[str]] = {}
    metadata: dict[int, str] = {}
    query = (
        select(unit_sources.c.unit_seq, episodes.c.id, episodes.c.metadata)
        .join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
        .where(unit_sources.c.unit_seq.in_(seqs), unit_sources.c.user_id == user_id)
        .order_by(unit_sources.c.unit_seq, episodes.c.seq)
    )
    for row in connection.execute(query):
        sources.setdefault(row.unit_seq, []).append(row.id)
        metadata.setdefault(row.unit_seq, row.metadata)
    found = (
        select(units, streams.c.source)
        .join(streams, streams.c.id == units.c.stream_id)
        .where(units.c.seq.in_(seqs), units.c.user_id == user_id)
    )
    return {
        row["seq"]: Unit(
            id=row["id"],
            scope=Scope(row["user_id"], row["agent_id"], row["run_id"]),
            kind=row["kind"],
            text=row["text"],
            episode_ids=tuple(sources.get(row["seq"], ())),
            occurred_at=from_micros(row["occurred_at"]),
            role=row["role"],
            name=row["name"],
            session=row["session"],
            source=row["source"],
            start=row["start"],
            end=row["end"],
            metadata=json.loads(metadata.get(row["seq"], "{}")),
        )
        for row in connection.execute(found).mappings()
    }


def seqs_of_episode(connection: Connection, episode_seq: int, kind: str | None = None) -> list[int]:
    """Row numbers of the units that came from an episode."""
    query = (
        select(units.c.seq)
        .join(unit_sources, unit_sources.c.unit_seq == units.c.seq)
        .where(unit_sources.c.episode_seq == episode_seq)
        .order_by(units.c.seq)
    )
    return list(connection.execute(query if kind is None else query.where(units.c.kind == kind)).scalars())


def set_status(connection: Connection, seqs: Sequence[int], status: str) -> None:
    """Change the status of units; call `touch_user(changed=True)` in the same transaction."""
    for some in pages(seqs):
        connection.execute(units.update().where(units.c.seq.in_(some)).values(status=status))


def remove(connection: Connection, seqs: Sequence[int]) -> dict[str, int]:
    """Delete units with everything derived from them; returns the deleted rows by table."""
    counts = dict.fromkeys((postings.name, vectors.name, unit_sources.name, units.name), 0)
    for some in pages(seqs):
        for table in (postings, vectors, unit_sources):
            counts[table.name] += connection.execute(delete(table).where(table.c.unit_seq.in_(some))).rowcount
        counts[units.name] += connection.execute(delete(units).where(units.c.seq.in_(some))).rowcount
    return counts


def count(connection: Connection, user_id: str | None = None) -> dict[str, int]:
    """Active units by kind."""
    query = select(units.c.kind, func.count()).where(units.c.status == "active").group_by(units.c.kind)
    if user_id is not None:
        query = query.where(units.c.user_id == user_id)
    return {row[0]: row[1] for row in connection.execute(query)}
