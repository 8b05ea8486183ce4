"""Recalls waiting to be queued: search itself writes nothing, unless recency counts recalls."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from nscma_torch.core.config import Config
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import StoreError
from nscma_torch.core.records import OF_ONE_MESSAGE, Hit
from nscma_torch.episodic.log.recalls import note_recalls


class Waiting(NamedTuple):
    """The recalls of one user, by episode id: their number, and the last one's time (microseconds) where it is kept."""

    counts: dict[str, int]
    times: dict[str, int]


class Recalls:
    """Counts of recalled episodes, by user and id; safe to share between threads.

    Args:
        timed: whether the time of the last recall is recorded.
        at_once: whether what was found is queued before the search returns, so that the next one knows it.
    """

    def __init__(self, database: Database, *, timed: bool, at_once: bool = False) -> None:
        self._database = database
        self._timed = timed
        self._at_once = at_once
        self._counts: Counter[tuple[str, str]] = Counter()
        self._times: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, database: Database, config: Config) -> Recalls:
        """Build from a configuration."""
        dated = config.score.recency_since == "recalled"
        return cls(database, timed=dated or config.curator.restarts, at_once=dated)

    def note(self, user_id: str, hits: Iterable[Hit], *, at: datetime) -> None:
        """Count the messages that hits quote, recalled at this time; what rests on many recalls none."""
        quoted = (hit.unit for hit in hits if hit.unit.kind in OF_ONE_MESSAGE)
        with self._lock:
            found = [(user_id, source) for unit in quoted for source in unit.episode_ids]
            self._counts.update(found)
            if self._timed:
                self._remember(dict.fromkeys(found, to_micros(at)))
        if self._at_once:
            self.queue(user_id)

    def forget(self, user_id: str, episode_id: str | None) -> None:
        """Drop the counts of an erased episode, or user."""
        with self._lock:
            for key in [key for key in self._counts if key[0] == user_id and episode_id in (None, key[1])]:
                del self._counts[key]
                self._times.pop(key, None)

    def waiting(self) -> dict[str, Waiting]:
        """Recalls not yet queued, by user."""
        with self._lock:
            return _by_user(self._counts, self._times)

    def queue(self, user_id: str | None = None) -> None:
        """Hand the counts of a user, or of all, to the store's queue, user by user; on an error the rest stay here."""
        with self._lock:
            taken = [key for key in self._counts if user_id in (None, key[0])]
            pending = Counter({key: self._counts.pop(key) for key in taken})
            times = {key: self._times.pop(key) for key in taken if key in self._times}
        left = _by_user(pending, times)
        try:
            for user_id, own in list(left.items()):
                with self._database.write(user_id) as connection:
                    note_recalls(connection, user_id, own.counts, own.times)
                del left[user_id]
        except StoreError:
            with self._lock:
                for user_id, own in left.items():
                    self._counts.update({(user_id, source): n for source, n in own.counts.items()})
                    self._remember({(user_id, source): at for source, at in own.times.items()})
            raise

    def _remember(self, times: Mapping[tuple[str, str], int]) -> None:
        """Keep the later of two times of one message; call it under the lock."""
        self._times |= {key: max(at, self._times.get(key, at)) for key, at in times.items()}


def _by_user(counts: Counter[tuple[str, str]], times: Mapping[tuple[str, str], int]) -> dict[str, Waiting]:
    found: dict[str, Waiting] = {}
    for (user_id, source), n in sorted(counts.items()):
        own = found.setdefault(user_id, Waiting({}, {}))
        own.counts[source] = n
        if (user_id, source) in times:
            own.times[source] = times[user_id, source]
    return found
