"""Recompute the units for messages after importing a damaged store in which only messages were readable."""

from __future__ import annotations

from sqlalchemy import Connection, select

from nscma_torch.core.database.schema import episodes
from nscma_torch.core.jobs import jobs
from nscma_torch.episodic.index import fingerprint, units
from nscma_torch.episodic.log import streams
from nscma_torch.episodic.log.backlog import EXTRACT
from nscma_torch.ingest.indexer import Indexer, chunk_units

_BATCH = 256


def reindex(connection: Connection, indexer: Indexer, user_id: str) -> None:
    """Index all of a user's messages that have no units, and queue those already processed for facts again."""
    fingerprint.bind(connection, indexer.fingerprint)
    query = select(episodes).where(episodes.c.user_id == user_id).order_by(episodes.c.seq)
    rows = connection.execute(query).mappings().all()
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        indexed = indexer.index([row["text"] for row in batch], [True] * len(batch))
        for row, own in zip(batch, indexed, strict=True):
            units.insert(connection, chunk_units(dict(row), own))
            if row["status"] != "active":
                units.set_status(connection, units.seqs_of_episode(connection, row["seq"]), row["status"])
    connection.execute(episodes.update().where(episodes.c.user_id == user_id).values(encoded=False))
    unread = [(row["stream_id"], row["seq"]) for row in rows if row["encoded"] or row["write"]]
    jobs.enqueue(connection, user_id, EXTRACT, unread)
    streams.touch_user(connection, user_id, changed=True)
