"""A cache of the indexes of the users asked for last, brought up to date on each read.

A search reads a snapshot of its user's index. Where that is up to date no search waits for another. Where the store has
moved on, one thread at a time brings the index of that user up to date; those of other users never wait. A write takes
no lock of this file.
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
    """The index of a user, and what is known of it.

    Attributes:
        lock: held by who brings `index` up to date; it guards `index` alone.
        latest: the last snapshot; None while the index is brought up to date.
        nbytes: counted when the last search ended.
    """

    index: UserIndex
    vectors: VectorSearch
    lock: threading.Lock = field(default_factory=threading.Lock)
    latest: UserIndex | None = None
    nbytes: int = 0

    def at_once(self, connection: Connection) -> UserIndex | None:
        """A snapshot of what `connection` sees, where nobody need be waited for."""
        generation, _ = version(connection, self.index.user_id)
        latest = self.latest
        if latest is not None and latest.generation == generation:
            return latest
        if not self.lock.acquire(blocking=False):
            return None
        try:  # a transaction that is older than what the index has seen is of no use
            return self.caught_up(connection) if self.index.generation <= generation else None
        finally:
            self.lock.release()

    def caught_up(self, connection: Connection) -> UserIndex:
        """A snapshot of what `connection` sees, which is no older than what the index has seen. Hold the lock."""
        self.latest = None  # else it would be copied for what changes in place
        self.index.catch_up(connection)
        self.latest = self.index.snapshot()
        return self.latest


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """A user's index as the transaction of `connection` sees the store, and what searches its vectors."""

    connection: Connection
    index: UserIndex
    vectors: VectorSearch


class Indexes:
    """A cache of indexes.

    Args:
        embedder: whose vectors the store must hold.
        new_index: makes the empty index of a user.
        new_search: makes what searches the vectors of one user.
        max_bytes: of all indexes together; those asked for longest ago are dropped, all but the last one if need be.

    Attributes:
        nbytes: of all indexes together, each as counted when its last search ended.
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
        """The index of a user as the store is now. Its snapshot may be kept after the transaction."""
        own = self._of(user_id)
        with ExitStack() as transaction:
            snapshot = None
            if not own.index.timed:
                connection = transaction.enter_context(self._begun(user_id))
                snapshot = own.at_once(connection)
            if snapshot is None:
                transaction.close()  # nobody holds a transaction while waiting for the lock
                with own.lock:  # the next begins inside, so that none is older than what the index has seen
                    connection = transaction.enter_context(self._begun(user_id))
                    snapshot = own.caught_up(connection)
            yield IndexSnapshot(connection, snapshot, own.vectors)
        self._weigh(user_id, own)

    @contextmanager
    def _begun(self, user_id: str) -> Iterator[Connection]:
        """A transaction in a store that holds vectors of the embedder."""
        with self._database.read(user_id) as connection:
            fingerprint.check(connection, self._embedder.fingerprint)
            yield connection

    def forget(self, user_id: str) -> None:
        """Drop a user's index, which holds names and words of their messages."""
        with self._lock:
            self._drop(user_id)

    def users(self) -> list[str]:
        """The users whose indexes are kept, in the order in which they were asked for."""
        with self._lock:
            return list(self._users)

    def _of(self, user_id: str) -> _User:
        with self._lock:
            own = self._users.pop(user_id, None) or _User(self._new_index(user_id), self._new_search())
            self._users[user_id] = own  # the newest last
            return own

    def _weigh(self, user_id: str, own: _User) -> None:
        """Count a user's index, unless it was dropped meanwhile, and drop the oldest while all take too much."""
        nbytes = _EMPTY + own.index.nbytes + own.vectors.nbytes
        with self._lock:
            if self._users.get(user_id) is not own:
                return
            self.nbytes += nbytes - own.nbytes
            own.nbytes = nbytes
            while self.nbytes > self._max_bytes and len(self._users) > 1:
                self._drop(next(iter(self._users)))

    def _drop(self, user_id: str) -> None:
        """Take a user out of the dictionary and the sum. Hold the lock."""
        own = self._users.pop(user_id, None)
        if own is not None:
            self.nbytes -= own.nbytes
