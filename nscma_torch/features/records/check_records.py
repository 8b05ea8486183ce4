"""Check the integrity of structured records: values must be known, and rows must refer to the user's own messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from sqlalchemy import select

from nscma_torch.core.capabilities import RowQueries
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.records import RESOLVABLE, MemoryType, Resolution, Sentiment
from nscma_torch.features.records.record_schema import (
    RECORD_TABLES,
    memory_records,
    record_entities,
    record_resolutions,
)
from nscma_torch.text.names import name_key

_M, _N, _R, _E = memory_records.c, record_entities.c, record_resolutions.c, episodes.c


def problems(rows: RowQueries) -> Iterator[str]:
    """Yield the problems found in the records, one sentence each."""
    yield from _owners(rows)
    yield from _values(rows)
    yield from _entities(rows)
    yield from _resolutions(rows)


def _owners(rows: RowQueries) -> Iterator[str]:
    for table in RECORD_TABLES:
        for name in ("episode_seq", "by_seq"):
            if name in table.c:
                foreign = select(_E.id).join(table, table.c[name] == _E.seq).where(_E.user_id != table.c.user_id)
                for (message,) in rows(foreign, table.c.user_id):
                    yield f"a row of {table.name} belongs to a different user than its message {message}"


def _values(rows: RowQueries) -> Iterator[str]:
    for row in rows(select(memory_records, _E.id).join(episodes, _E.seq == _M.episode_seq), _M.user_id):
        known = (
            row.type in get_args(MemoryType)
            and row.sentiment in (*get_args(Sentiment), None)
            and row.resolution in get_args(Resolution)
        )
        if not known:
            yield f"the record of message {row.id} has an unknown type, sentiment or resolution"
        elif (row.resolution == "none") == (row.type in RESOLVABLE):
            yield f"the record of message {row.id} is a {row.type} with the resolution {row.resolution!r}"


def _entities(rows: RowQueries) -> Iterator[str]:
    bare = _N.episode_seq.not_in(select(_M.episode_seq))
    for (message,) in rows(select(_E.id).join(record_entities, _N.episode_seq == _E.seq).where(bare), _N.user_id):
        yield f"message {message} has record entities but no record"
    for key, name in rows(select(_N.key, _N.name), _N.user_id):
        if key != name_key(name) or not key:
            yield f"the record entity {name!r} has the wrong key {key!r}"


def _resolutions(rows: RowQueries) -> Iterator[str]:
    early = select(_E.id).join(record_resolutions, _R.by_seq == _E.seq).where(_R.by_seq <= _R.episode_seq)
    for (message,) in rows(early, _R.user_id):
        yield f"message {message} settles a message that is not before it"
