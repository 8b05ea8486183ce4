"""What searches have found, kept until it can be queued: search itself writes nothing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

from nscma_torch.errors import StoreError
from nscma_torch.records import Hit
from nscma_torch.storage import jobs
from nscma_torch.storage.database import Database


class Recalls:
    """Counts of recalled episodes, by user and id; safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def note(self, user_id: str, hits: Iterable[Hit]) -> None:
        """Count the messages that hits quote; a summary recalls none of its many."""
        quoted = (hit.unit for hit in hits if hit.unit.kind != "summary")
        with self._lock:
            self._counts.update((user_id, source) for unit in quoted for source in unit.episode_ids)

    def forget(self, user_id: str, episode_id: str | None) -> None:
        """Drop the counts of an erased episode, or user."""
        with self._lock:
            for key in [key for key in self._counts if key[0] == user_id and episode_id in (None, key[1])]:
                del self._counts[key]

    def waiting(self) -> dict[str, dict[str, int]]:
        """What is not queued yet: counts by user and id."""
        with self._lock:
            return _by_user(self._counts)

    def queue(self) -> None:
        """Hand all counts to the store's queue; on an error they stay here."""
        with self._lock:
            pending, self._counts = self._counts, Counter()
        if not pending:
            return
        try:
            with self._database.write() as connection:
                for user_id, counts in _by_user(pending).items():
                    jobs.note_recalls(connection, user_id, counts)
        except StoreError:
            with self._lock:
                self._counts.update(pending)
            raise


def _by_user(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (user_id, source), n in sorted(counts.items()):
        found.setdefault(user_id, {})[source] = n
    return found
