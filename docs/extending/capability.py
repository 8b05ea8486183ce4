# nscma_torch/features/bookmarks/capability.py
"""Bookmarks: their table, and what an erasure and the digest do with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, select

from nscma_torch.core.capabilities import Capability, Erased, RowQueries
from nscma_torch.core.database.schema import episodes
from nscma_torch.features.bookmarks import bookmarks as rows


def _digest(queries: RowQueries) -> Iterator[tuple[Any, ...]]:
    table = rows.bookmarks
    found = select(episodes.c.id).join(table, table.c.episode_seq == episodes.c.seq).order_by(episodes.c.id)
    for (message_id,) in queries(found, table.c.user_id):
        yield ("bookmark", message_id)


def _erase_episode(connection: Connection, episode_seq: int, _units: Sequence[int]) -> Erased:
    return Erased(rows=Counter({rows.bookmarks.name: rows.remove(connection, episode_seq)}))


CAPABILITY = Capability(
    tables=(rows.bookmarks,), name="bookmarks", rows=rows, digest=_digest, erase_episode=_erase_episode
)
