"""The fingerprint of what the memory knows: equal for two stores that were given the same input.

It covers streams, episodes with their decisions, units with their provenance and what they say, hierarchies, structured
records, and what `digest_facts` names; not system times, job rows, access counts, row numbers, vectors, or the weights
of links, which are cosines: their last bits depend on which texts were embedded side by side. Other floats count to six
decimals.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sqlalchemy import Connection, Table, select

from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.database.schema import episodes, streams
from nscma_torch.episodic.index.unit_schema import unit_sources, units
from nscma_torch.features.records import digest_records
from nscma_torch.hierarchy.store.hierarchy_schema import hierarchies, links, node_units, nodes, personas
from nscma_torch.maintenance import digest_facts
from nscma_torch.semantic.store.fact_schema import statements, unit_statements
from nscma_torch.text.files.file_keys import without_place

_COLUMNS: dict[Table, tuple[str, ...]] = {
    streams: ("id", "user_id", "agent_id", "run_id", "source", "next_position"),
    episodes: (
        *(
            "id",
            "user_id",
            "agent_id",
            "run_id",
            "stream_id",
            "position",
            "role",
            "name",
            "session",
            "text",
            "metadata",
        ),
        *("idempotency_key", "occurred_at", "expires_at", "status", "write", "decision", "encoded", "importance"),
    ),
    units: (
        *("id", "user_id", "agent_id", "run_id", "kind", "text", "stream_id", "position", "session", "role", "name"),
        *("start", "end", "length", "expires_at", "importance", "status"),
    ),
    hierarchies: ("id", "user_id", "agent_id"),
    nodes: ("hierarchy_id", "level", "number"),
    personas: ("hierarchy_id", "level", "id", "node", "label"),
    links: ("hierarchy_id", "level", "a", "b", "persona_a", "persona_b", "cut"),
}


def digest(connection: Connection, user_id: str | None = None) -> str:
    """SHA-256, in hex, over the logical state of a user, or of all."""
    sha = hashlib.sha256()
    for table, names in _COLUMNS.items():
        order = (table.c.id,) if "seq" in table.c else tuple(table.primary_key.columns)
        query = select(*(table.c[name] for name in names)).order_by(*order)
        if user_id is not None:
            query = query.where(table.c.user_id == user_id)
        for row in connection.execute(query.execution_options(yield_per=1024)):
            values = row._asdict()
            if values.get("idempotency_key"):
                values["idempotency_key"] = without_place(values["idempotency_key"])
            if values.get("decision"):
                values["decision"] = decoded(values["decision"])
            sha.update(_canonical(table.name, *values.values()))
    sources = (
        select(units.c.id, episodes.c.id)
        .join(unit_sources, unit_sources.c.unit_seq == units.c.seq)
        .join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
        .order_by(units.c.id, episodes.c.id)
    )
    if user_id is not None:
        sources = sources.where(units.c.user_id == user_id)
    said = select(units.c.id, node_units.c.hierarchy_id, node_units.c.level, node_units.c.number)
    said = said.join(node_units, node_units.c.unit_seq == units.c.seq).order_by(units.c.id)
    if user_id is not None:
        said = said.where(units.c.user_id == user_id)
    states = select(units.c.id, statements.c.id).join(unit_statements, unit_statements.c.unit_seq == units.c.seq)
    states = states.join(statements, statements.c.seq == unit_statements.c.statement_seq)
    states = states.order_by(units.c.id, statements.c.id)
    if user_id is not None:
        states = states.where(units.c.user_id == user_id)
    zones = select(episodes.c.id, episodes.c.utc_offset).where(episodes.c.utc_offset.is_not(None))
    zones = zones.order_by(episodes.c.id)
    if user_id is not None:
        zones = zones.where(episodes.c.user_id == user_id)
    for name, query in (("source", sources), ("said", said), ("states", states), ("zone", zones)):
        for row in connection.execute(query.execution_options(yield_per=1024)):
            sha.update(_canonical(name, *row))
    for part in (digest_facts, digest_records):
        for line in part.rows(connection, user_id):
            sha.update(_canonical(*line))
    return sha.hexdigest()


def _canonical(*values: Any) -> bytes:
    return json.dumps([_rounded(value) for value in values], ensure_ascii=False).encode() + b"\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in sorted(value.items())}
    return value
