"""The `Database` interface: transactions, which users' rows they access, and counters.

There are two implementations: `sqlite_database` uses one file, and `postgres_database` uses a schema in a PostgreSQL
database. Both have the same tables (`schema`) and guarantees: data committed by `write` survives a kill at any instant.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from sqlalchemy import Connection, Engine, bindparam, exc, func, select

from nscma_torch.core.database import schema
from nscma_torch.core.database.dialects import in_postgres, insert
from nscma_torch.core.errors import EncodingError, NscmaError, StoreBusyError

T = TypeVar("T")


class _Rows(enum.Enum):
    OF_ALL_USERS = "all users"
    OF_NO_USER = "no user"
    ONE_BY_ONE = "one by one"


ALL_USERS: Literal[_Rows.OF_ALL_USERS] = _Rows.OF_ALL_USERS
NO_USER: Literal[_Rows.OF_NO_USER] = _Rows.OF_NO_USER
ONE_BY_ONE: Literal[_Rows.ONE_BY_ONE] = _Rows.ONE_BY_ONE
Whose = str | _Rows  # a user's id, or one of the three


def user_or_all(user_id: str | None) -> Whose:
    """Return the argument for `Database.read` and `Database.write` that selects one user, or all users if None."""
    return ALL_USERS if user_id is None else user_id


class Database(ABC):
    """A store, with `read` and `write` for transactions. Threads may share it.

    Both take the owner of the rows to access: a user id, `ALL_USERS`, or `NO_USER` for store-wide rows (settings).
    `ONE_BY_ONE` is for any users' leases and for worker reports: each row is locked individually, and no writer is
    blocked. A SQLite file has one writer, which sees every row; PostgreSQL has one writer per user, and a transaction
    sees only that user's rows.

    Attributes:
        name: the store's address, without a password.
    """

    name: str
    _engine: Engine

    @abstractmethod
    def read(self, whose: Whose) -> AbstractContextManager[Connection]:
        """Open a consistent snapshot, without waiting for a writer."""

    @abstractmethod
    def write(self, whose: Whose, *, wait: float | None = None) -> AbstractContextManager[Connection]:
        """Open an exclusive write transaction on these rows; commit at the end, or roll back on an exception.

        `wait` is the maximum number of seconds to wait for another writer, if less than the store's `busy_timeout`.
        Raises `StoreBusyError` if another writer keeps these rows locked for longer.
        """

    @abstractmethod
    def rewrite(self) -> None:
        """Remove the remains of deleted data from disk, if the database supports it; `files` lists the files to check.

        Raises `StoreBusyError` or `StoreFullError` on failure: bytes from deleted rows may then remain.
        """

    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """Return the store's existing files so that they can be searched; empty if a server manages them."""

    @abstractmethod
    def size(self) -> int:
        """Return the store's size on disk in bytes."""

    @abstractmethod
    def problems(self, connection: Connection) -> list[str]:
        """Return the problems found by the database's own checks, one sentence each."""

    @abstractmethod
    def exposures(self) -> list[str]:
        """Return one sentence for each excessive access right to the store, saying how to fix it."""

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def forget_inherited(self) -> None:
        """In a forked child, leave inherited connections to the parent process and open new ones."""
        self._engine.dispose(close=False)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate exceptions raised by the driver or SQLAlchemy into this library's own."""
        try:
            yield
        except exc.DBAPIError as error:
            raise self._explained(error.orig) from error
        except exc.TimeoutError as error:
            raise StoreBusyError(f"all connections to {self.name} are in use; run fewer calls at once") from error
        except UnicodeEncodeError as error:
            raise EncodingError(f"{error.object[:40]!r} contains a lone surrogate, which is not valid text") from error

    @abstractmethod
    def _explained(self, error: BaseException | None) -> NscmaError:
        """Convert a driver's error into one clear error."""


PAGE = 512  # rows, or values of one IN: SQLite takes a bounded number of variables in a statement


def pages(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the values in slices of `PAGE`."""
    for start in range(0, len(values), PAGE):
        yield values[start : start + PAGE]


# Statements of every message are made once: making one costs as much as running it.
_TAKE = (
    schema.counters.update()
    .where(schema.counters.c.name == bindparam("counter"))
    .values(value=schema.counters.c.value + bindparam("taken"))
    .returning(schema.counters.c.value)
)
_META = select(schema.meta.c.value).where(schema.meta.c.key == bindparam("key"))
_DRAW = select(func.nextval(bindparam("sequence"))).select_from(func.generate_series(1, bindparam("taken")))


def next_seqs(connection: Connection, name: str, n: int) -> Sequence[int]:
    """Take the next `n` numbers from counter `name`. They exceed all numbers in this user's rows and are never reused.

    PostgreSQL takes them from a sequence, which blocks no writer: there may be gaps, and across users their order may
    differ from the commit order.
    """
    if not n:
        return range(0)
    if in_postgres(connection):
        drawn = connection.execute(_DRAW, {"sequence": sequence_of(name), "taken": n})
        return sorted(drawn.scalars())
    after = connection.execute(_TAKE, {"counter": name, "taken": n}).scalar()
    if after is None:
        connection.execute(schema.counters.insert().values(name=name, value=1 + n))
        return range(1, 1 + n)
    return range(after - n, after)


def next_seq(connection: Connection, name: str) -> int:
    """Take the next number from counter `name`; see `next_seqs`."""
    return next_seqs(connection, name, 1)[0]


def sequence_of(name: str) -> str:
    """Return the name of the PostgreSQL sequence for a counter."""
    return f"{name}_seq"


def get_meta(connection: Connection, key: str) -> str | None:
    """Return the value of a store-wide setting, or None if it isn't set."""
    return connection.execute(_META, {"key": key}).scalar()


def set_meta(connection: Connection, key: str, value: str) -> None:
    """Set a store-wide setting."""
    row = insert(connection, schema.meta).values(key=key, value=value)
    connection.execute(row.on_conflict_do_update(index_elements=["key"], set_={"value": value}))
