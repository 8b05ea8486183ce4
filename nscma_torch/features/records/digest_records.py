"""The part of the digest for structured records, as their messages have them and as later ones settle them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Select, select

from nscma_torch.core.database.schema import episodes
from nscma_torch.features.records.record_schema import memory_records, record_entities, record_resolutions

_M, _N, _R, _E = memory_records.c, record_entities.c, record_resolutions.c, episodes.c


def rows(connection: Connection, user_id: str | None = None) -> Iterator[tuple[Any, ...]]:
    """Lines to hash, in order: of a user, or of all."""

    def read(query: Select[Any], owner: Any) -> Any:
        return connection.execute(query if user_id is None else query.where(owner == user_id))

    record = select(_E.id, _M.type, _M.sentiment, _M.resolution).join(memory_records, _M.episode_seq == _E.seq)
    for row in read(record.order_by(_E.id), _M.user_id):
        yield ("record", *row)
    named = select(_E.id, _N.number, _N.name).join(record_entities, _N.episode_seq == _E.seq)
    for row in read(named.order_by(_E.id, _N.number), _N.user_id):
        yield ("record names", *row)
    later = episodes.alias()
    settled = select(_E.id, later.c.id).join(record_resolutions, _R.episode_seq == _E.seq)
    settled = settled.join(later, later.c.seq == _R.by_seq)
    for row in read(settled.order_by(_E.id, later.c.id), _R.user_id):
        yield ("settled", *row)
