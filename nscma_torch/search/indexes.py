"""A cache for the indexes of recently active users; an index is updated when it is read.

A search reads a snapshot of its user's index. Searches in an up-to-date index never wait for each other. If the store
has changed, one thread at a time updates that user's index; other users never wait. Writes never take a lock from this
module.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection

from nscma_torch.core.database.database import Database
from nscma_torch.core.database.user_versions import version
from nscma_torch.core.protocols import Embedder
from nscma_torch.episodic.index import fingerprint
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import VectorSearch

_EMPTY = 16_384  # bytes that an index without rows is counted as: its objects, and the ids of users without memory


@dataclass(slots=True, eq=False)
class _User:
    """A user's index with its state.

    Attributes:
        lock: held while `index` is updated; it guards only `index`.
        latest: the last snapshot; None while the index is being updated.
        nbytes: size of the index, measured when the last search ended.
    """

    index: UserIndex
    vectors: VectorSearch
    lock: threading.Lock = field(default_factory=threading.Lock)
    latest: UserIndex | None = None
    nbytes: int = 0

    def at_once(self, connection: Connection) -> UserIndex | None:
        """Return a snapshot of the state visible to `connection`, or None if that requires waiting."""
        generation, _ = version(connection, self.index.user_id)
        latest = self.latest
        if latest is not None and latest.generation == generation:
            return latest
        if not self.lock.acquire(blocking=False):
            return None
        try:  # a transaction older than the index is useless
            return self.caught_up(connection) if self.index.generation <= generation else None
        finally:
            self.lock.release()

    def caught_up(self, connection: Connection) -> UserIndex:
        """Return a snapshot at least as new as the state visible to `connection`.

        The caller must hold the lock.
        """
        self.latest = None  # else it would be copied for what changes in place
        self.index.catch_up(connection)
        self.latest = self.index.snapshot()
        return self.latest


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """A user's index in the state visible to `connection`, and its vector search."""

    connection: Connection
    index: UserIndex
    vectors: VectorSearch


class Indexes:
    """The cache.

    Args:
        embedder: the embedder for the store's vectors.
        new_index: creates an empty index for a user.
        new_search: creates the vector search for a user.
        max_bytes: maximum total size of all indexes; the least recently used ones are dropped, if necessary all but
            one.

    Attributes:
        nbytes: total size of all indexes, each measured when its last search ended.
    """

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        new_index: Callable[[str], UserIndex],
        new_search: Callable[[], VectorSearch],
        max_bytes: int,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._new_index = new_index
        self._new_search = new_search
        self._max_bytes = max_bytes
        self._users: dict[str, _User] = {}
        self.nbytes = 0
        self._lock = threading.Lock()  # of the dictionary and the sum; never held while anything is read

    @contextmanager
    def reading(self, user_id: str) -> Iterator[IndexSnapshot]:
        """Yield a user's index in the store's current state. The snapshot may outlive the transaction."""
        own = self._of(user_id)
        with ExitStack() as transaction:
            snapshot = None
            if not own.index.timed:
                connection = transaction.enter_context(self._begun(user_id))
                snapshot = own.at_once(connection)
            if snapshot is None:
                transaction.close()  # no transaction is held while waiting for the lock
                with own.lock:  # the next begins inside, so it is not older than the index
                    connection = transaction.enter_context(self._begun(user_id))
                    snapshot = own.caught_up(connection)
            yield IndexSnapshot(connection, snapshot, own.vectors)
        self._weigh(user_id, own)

    @contextmanager
    def _begun(self, user_id: str) -> Iterator[Connection]:
        """Open a transaction, and check that the store's vectors are from the embedder."""
        with self._database.read(user_id) as connection:
            fingerprint.check(connection, self._embedder.fingerprint)
            yield connection

    def forget(self, user_id: str) -> None:
        """Drop a user's index, as it contains names and words from their messages."""
        with self._lock:
            self._drop(user_id)

    def users(self) -> list[str]:
        """Return the users whose indexes are cached, least recently used first."""
        with self._lock:
            return list(self._users)

    def _of(self, user_id: str) -> _User:
        with self._lock:
            own = self._users.pop(user_id, None) or _User(self._new_index(user_id), self._new_search())
            self._users[user_id] = own  # the newest last
            return own

    def _weigh(self, user_id: str, own: _User) -> None:
        """Measure a user's index, unless it was dropped in the meantime.

        Then drop the oldest indexes while the total is too large.
        """
        nbytes = _EMPTY + own.index.nbytes + own.vectors.nbytes
        with self._lock:
            if self._users.get(user_id) is not own:
                return
            self.nbytes += nbytes - own.nbytes
            own.nbytes = nbytes
            while self.nbytes > self._max_bytes and len(self._users) > 1:
                self._drop(next(iter(self._users)))

    def _drop(self, user_id: str) -> None:
        """Remove a user's index from the cache and from the total. The caller must hold the lock."""
        own = self._users.pop(user_id, None)
        if own is not None:
            self.nbytes -= own.nbytes
