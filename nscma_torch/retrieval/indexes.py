"""A cache of the indexes of the users asked for last, brought up to date on each read.

One thread at a time updates a user's index. A search reads a snapshot of it, so that searches of the same user run side
by side, and those of other users never wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection

from nscma_torch.protocols import Embedder
from nscma_torch.storage import fingerprint
from nscma_torch.storage.database import Database
from nscma_torch.storage.user_index import UserIndex
from nscma_torch.storage.vectors import VectorSearch

_KEPT = 1_000_000  # units of the indexes in memory together: 3 GB of float32 vectors at 384 dimensions


@dataclass(frozen=True, slots=True)
class _User:
    index: UserIndex
    vectors: VectorSearch
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class Reading:
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
    """

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        new_index: Callable[[str], UserIndex],
        new_search: Callable[[], VectorSearch],
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._new_index = new_index
        self._new_search = new_search
        self._users: dict[str, _User] = {}
        self._lock = threading.Lock()  # of the dictionary; never held while anything is read

    @contextmanager
    def reading(self, user_id: str) -> Iterator[Reading]:
        """The index of a user as the store is now. Its snapshot may be kept after the transaction."""
        own = self._of(user_id)
        with ExitStack() as transaction:
            with own.lock:  # the transaction begins inside, so that none is older than what the index has seen
                connection = transaction.enter_context(self._database.read(user_id))
                fingerprint.check(connection, self._embedder.fingerprint)
                own.index.catch_up(connection)
                snapshot = own.index.snapshot()
            self._drop_oldest()
            yield Reading(connection, snapshot, own.vectors)

    def forget(self, user_id: str) -> None:
        """Drop a user's index, which holds names and words of their messages."""
        with self._lock:
            self._users.pop(user_id, None)

    def users(self) -> list[str]:
        """The users whose indexes are kept, in the order in which they were asked for."""
        with self._lock:
            return list(self._users)

    def _of(self, user_id: str) -> _User:
        with self._lock:
            own = self._users.pop(user_id, None) or _User(self._new_index(user_id), self._new_search())
            self._users[user_id] = own  # the newest last
            return own

    def _drop_oldest(self) -> None:
        with self._lock:
            while len(self._users) > 1 and sum(len(own.index) for own in self._users.values()) > _KEPT:
                del self._users[next(iter(self._users))]
