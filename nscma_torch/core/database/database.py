"""A store as the rest of the library sees it: transactions, whose rows they touch, and counters.

Two kinds: `sqlite_database` is one file, `postgres_database` a schema of a PostgreSQL database. The tables are the same
(`schema`), and so is what a transaction promises: what `write` has committed survives a kill at any instant.
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
    """The rows of a user, or with None of all users, as `Database.read` and `Database.write` take them."""
    return ALL_USERS if user_id is None else user_id


class Database(ABC):
    """One store. Use `read` and `write` for transactions; safe to share between threads.

    Both are told whose rows they touch: a user's id, `ALL_USERS`, or `NO_USER` for what belongs to the store as a whole
    (settings). `ONE_BY_ONE` is for leases and reports of workers, of any users: each row is locked by itself, and no
    writer is kept out. A file has one writer and shows every row to it; PostgreSQL has one writer for each user, and
    shows a transaction the rows of that user and no others.

    Attributes:
        name: the address, without a password.
    """

    name: str
    _engine: Engine

    @abstractmethod
    def read(self, whose: Whose) -> AbstractContextManager[Connection]:
        """A consistent snapshot; never waits for a writer."""

    @abstractmethod
    def write(self, whose: Whose, *, wait: float | None = None) -> AbstractContextManager[Connection]:
        """The one writer of these rows; commits at the end, or leaves everything as it was.

        `wait`: seconds to wait for another writer, where it is less than the store's `busy_timeout`.
        Raises StoreBusyError where another holds these rows for longer.
        """

    @abstractmethod
    def rewrite(self) -> None:
        """Take what was deleted out of the files, as far as this kind of store can; see `files` for what proves it.

        Raises StoreBusyError or StoreFullError where it cannot: deleted rows may leave bytes behind.
        """

    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """The files of the store that exist now and can be searched; none where a server keeps them."""

    @abstractmethod
    def size(self) -> int:
        """Bytes that the store takes on disk."""

    @abstractmethod
    def problems(self, connection: Connection) -> list[str]:
        """Return the problems that the database's own checks find, a sentence each."""

    @abstractmethod
    def exposures(self) -> list[str]:
        """Return excessive access to the store and its remedy, a sentence each."""

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def forget_inherited(self) -> None:
        """In a forked child: leave the connections to the parent, and open own ones from now on."""
        self._engine.dispose(close=False)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise what a driver or SQLAlchemy raises as an error of ours."""
        try:
            yield
        except exc.DBAPIError as error:
            raise self._explained(error.orig) from error
        except exc.TimeoutError as error:
            raise StoreBusyError(f"all connections to {self.name} are in use; run fewer calls at once") from error
        except UnicodeEncodeError as error:
            raise EncodingError(f"{error.object[:40]!r} holds half of a surrogate pair, which is not text") from error

    @abstractmethod
    def _explained(self, error: BaseException | None) -> NscmaError:
        """The one clear error for what the driver said."""


PAGE = 512  # rows, or values of one IN: SQLite takes a bounded number of variables in a statement


def pages(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """The values in runs of `PAGE`."""
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
    """Take `n` numbers of counter `name`, rising; they are above all that this user's rows have, and never given again.

    PostgreSQL draws them from a sequence, which no writer waits for: they may have gaps, and numbers of different users
    are not in the order of their commits.
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
    """The next number of counter `name`; see `next_seqs`."""
    return next_seqs(connection, name, 1)[0]


def sequence_of(name: str) -> str:
    """The sequence of a counter in PostgreSQL."""
    return f"{name}_seq"


def get_meta(connection: Connection, key: str) -> str | None:
    """Value of a store-wide setting, or None."""
    return connection.execute(_META, {"key": key}).scalar()


def set_meta(connection: Connection, key: str, value: str) -> None:
    """Set a store-wide setting."""
    row = insert(connection, schema.meta).values(key=key, value=value)
    connection.execute(row.on_conflict_do_update(index_elements=["key"], set_={"value": value}))
