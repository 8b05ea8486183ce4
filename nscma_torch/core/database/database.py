"""The `Database` interface: transactions, the users whose rows they touch, and counters.

There are two kinds: `sqlite_database` is one file, `postgres_database` a schema of a PostgreSQL database. Both have the
same tables (`schema`) and guarantees: data committed by `write` survives a kill at any instant.
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
    """Return the argument of `Database.read` and `Database.write` for one user, or for all (None)."""
    return ALL_USERS if user_id is None else user_id


class Database(ABC):
    """A store. Use `read` and `write` for transactions; safe to share between threads.

    Both take the owner of the rows they touch: a user id, `ALL_USERS`, or `NO_USER` for store-wide rows (settings).
    `ONE_BY_ONE` is for leases and reports of workers, of any users: each row is locked by itself, and no writer is
    blocked. A file has one writer, who sees every row; PostgreSQL has one writer per user, and a transaction sees only
    that user's rows.

    Attributes:
        name: the address, without a password.
    """

    name: str
    _engine: Engine

    @abstractmethod
    def read(self, whose: Whose) -> AbstractContextManager[Connection]:
        """Open a consistent snapshot; never waits for a writer."""

    @abstractmethod
    def write(self, whose: Whose, *, wait: float | None = None) -> AbstractContextManager[Connection]:
        """Open the only write transaction on these rows; commit at the end, or roll back on an exception.

        `wait` limits the seconds to wait for another writer, if below the store's `busy_timeout`. Raises StoreBusyError
        if another writer holds these rows for longer.
        """

    @abstractmethod
    def rewrite(self) -> None:
        """Remove deleted data from the files, as far as this kind of store can; `files` lists what to check.

        Raises StoreBusyError or StoreFullError on failure: deleted rows may then leave bytes behind.
        """

    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """Return the store's existing files, for searching; empty if a server keeps them."""

    @abstractmethod
    def size(self) -> int:
        """Return the store's size on disk in bytes."""

    @abstractmethod
    def problems(self, connection: Connection) -> list[str]:
        """Return the problems found by the database's own checks, one sentence each."""

    @abstractmethod
    def exposures(self) -> list[str]:
        """Return excessive access rights to the store and how to fix them, one sentence each."""

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def forget_inherited(self) -> None:
        """In a forked child, leave inherited connections to the parent and open new ones."""
        self._engine.dispose(close=False)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate exceptions of the driver or SQLAlchemy into our own."""
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
    """Take the next `n` numbers of counter `name`, above all that this user's rows have; never reused.

    PostgreSQL takes them from a sequence, which blocks no writer: they may have gaps, and across users they don't
    follow the order of commits.
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
    """Take the next number of counter `name`; see `next_seqs`."""
    return next_seqs(connection, name, 1)[0]


def sequence_of(name: str) -> str:
    """Return the name of a counter's sequence in PostgreSQL."""
    return f"{name}_seq"


def get_meta(connection: Connection, key: str) -> str | None:
    """Return the value of a store-wide setting, or None."""
    return connection.execute(_META, {"key": key}).scalar()


def set_meta(connection: Connection, key: str, value: str) -> None:
    """Set a store-wide setting."""
    row = insert(connection, schema.meta).values(key=key, value=value)
    connection.execute(row.on_conflict_do_update(index_elements=["key"], set_={"value": value}))
