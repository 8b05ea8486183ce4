"""Recalls: record search hits and add them to each message's counter of how often searches found it.

Searches write nothing, so `Recalls` keeps the recalls found in this process; the table `recalls` queues them, and
`count_recalls` adds them to the messages.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from nscma_torch.core.database import dialects
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import ALL_USERS, Database, pages
from nscma_torch.core.database.schema import episodes, recalls
from nscma_torch.core.jobs import jobs, leases
from nscma_torch.core.records import OF_ONE_MESSAGE, Hit
from nscma_torch.episodic.log import history
from nscma_torch.episodic.log.backlog import EXTRACT


class PendingRecalls(NamedTuple):
    """One user's recalls by episode id: their number and, if recorded, the time of the last recall (microseconds)."""

    counts: Counter[str]
    times: dict[str, int]


class Recalls:
    """Recalls found in this process and not yet queued, by user and message. Thread-safe.

    Args:
        timed: record the time of the last recall.
        at_once: queue recalls before the search returns, so that the next search takes them into account.
    """

    def __init__(self, database: Database, *, timed: bool, at_once: bool = False) -> None:
        self._database = database
        self._timed = timed
        self._at_once = at_once
        self._waiting: dict[str, PendingRecalls] = {}
        self._lock = threading.Lock()
        self._queueing = threading.Lock()  # held while recalls are written, so that none is written twice

    def note(self, user_id: str, hits: Iterable[Hit], *, at: datetime) -> None:
        """Count a recall for each message that the hits quote; a unit made from many messages recalls none of them."""
        found = [source for hit in hits if hit.unit.kind in OF_ONE_MESSAGE for source in hit.unit.episode_ids]
        if not found:
            return
        with self._lock:
            own = self._waiting.setdefault(user_id, PendingRecalls(Counter(), {}))
            own.counts.update(found)
            if self._timed:
                own.times.update({source: max(to_micros(at), own.times.get(source, 0)) for source in found})
        if self._at_once:
            self.queue(user_id)

    def forget(self, user_id: str, episode_id: str | None) -> None:
        """Drop the recalls of an erased message or, if `episode_id` is None, of an erased user."""
        with self._lock:
            own = self._waiting.get(user_id, PendingRecalls(Counter(), {}))
            for kept in own:
                kept.clear() if episode_id is None else kept.pop(episode_id, None)

    def waiting(self) -> dict[str, PendingRecalls]:
        """Return the recalls not yet queued, by user."""
        with self._lock:
            return {
                user_id: PendingRecalls(own.counts.copy(), own.times.copy())
                for user_id, own in sorted(self._waiting.items())
                if own.counts
            }

    def queue(self, user_id: str | None = None) -> None:
        """Move the recalls of one user, or of all users, to the store's queue, user by user; recalls that fail to be
        stored are kept.
        """
        with self._queueing:
            for owner, own in self.waiting().items():
                if user_id in (None, owner):
                    with self._database.write(owner) as connection:
                        note_recalls(connection, owner, own.counts, own.times)
                    self._drop(owner, own)

    def _drop(self, user_id: str, queued: PendingRecalls) -> None:
        """Remove queued recalls, keeping those noted in the meantime."""
        with self._lock:
            own = self._waiting[user_id]
            own.counts.subtract(queued.counts)
            for source in queued.counts:
                if own.counts[source] <= 0:
                    del own.counts[source]
                    own.times.pop(source, None)
            if not own.counts:
                del self._waiting[user_id]


def note_recalls(
    connection: Connection, user_id: str, counts: Mapping[str, int], times: Mapping[str, int] | None = None
) -> None:
    """Queue recalls by episode id for the next count (negative numbers are subtracted); unknown ids are skipped.

    `times` contains the time of each episode's last recall (microseconds), if recorded.
    """
    insert = dialects.insert(connection, recalls)
    more = {"count": recalls.c.count + insert.excluded.count}
    for some in pages(sorted(counts)):
        query = select(episodes.c.seq, episodes.c.id).where(episodes.c.user_id == user_id, episodes.c.id.in_(some))
        found = connection.execute(query.order_by(episodes.c.seq)).all()
        rows = [{"episode_seq": seq, "user_id": user_id, "count": counts[id]} for seq, id in found]
        history.note_recalls(connection, user_id, {seq: times[id] for seq, id in found if times and id in times})
        if rows:
            connection.execute(insert.on_conflict_do_update(index_elements=[recalls.c.episode_seq], set_=more), rows)


def recalls_queued(connection: Connection, episode_seq: int) -> int:
    """Return the number of queued recalls for a message."""
    return connection.execute(select(recalls.c.count).where(recalls.c.episode_seq == episode_seq)).scalar() or 0


def count_recalls(connection: Connection, user_id: str) -> int:
    """Add a user's queued recalls to the messages' access counts; queue recalled messages for extraction if they were
    deferred.

    Messages added with `infer=False` have no decision and are never queued. Returns the number of messages queued.
    """
    rows = connection.execute(
        select(
            recalls.c.episode_seq,
            recalls.c.count.label("times"),
            episodes.c.accesses,
            (episodes.c.decision.is_not(None) & ~episodes.c.encoded).label("waiting"),
            episodes.c.stream_id,
        )
        .join(episodes, episodes.c.seq == recalls.c.episode_seq)
        .where(recalls.c.user_id == user_id)
        .order_by(recalls.c.episode_seq)
    ).all()
    queued = 0
    for row in rows:
        values = {"accesses": max(0, row.accesses + row.times)}
        connection.execute(episodes.update().where(episodes.c.seq == row.episode_seq).values(**values))
        if row.waiting:
            queued += jobs.enqueue(connection, user_id, EXTRACT, [(row.stream_id, row.episode_seq)])
    connection.execute(recalls.delete().where(recalls.c.user_id == user_id))
    return queued


def users_recalled(connection: Connection, owner: str) -> list[str]:
    """Return the users with queued recalls whose jobs are leased to an owner, ordered by name."""
    own = leases.held_by(recalls.c.user_id, leases.JOBS, owner)
    query = select(recalls.c.user_id).where(own).distinct().order_by(recalls.c.user_id)
    return list(connection.execute(query).scalars())


def count_leased(database: Database, owner: str) -> None:
    """Count the queued recalls for the users leased to an owner; write nothing if there are none."""
    with database.read(ALL_USERS) as connection:
        users = users_recalled(connection, owner)
    for user_id in users:
        with database.write(user_id) as connection:
            count_recalls(connection, user_id)
