"""A store in a PostgreSQL schema, with pgvector.

There is one writer per user: a transaction that writes a user's rows holds that user's advisory lock and a shared lock
for all users; a transaction that writes all users' rows holds the latter exclusively. Row-level security limits a
transaction to its user's rows (`postgres_schema`); it requires a role that is neither superuser nor BYPASSRLS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event, text

from nscma_torch.core.capabilities import all_tables
from nscma_torch.core.database import forks_and_file_locks, postgres_schema
from nscma_torch.core.database import postgres_vectors as vector_index
from nscma_torch.core.database.database import ALL_USERS, NO_USER, ONE_BY_ONE, Database, Whose
from nscma_torch.core.database.postgres_address import parse
from nscma_torch.core.database.turn_queue import WRITERS, turn_of
from nscma_torch.core.errors import (
    EncodingError,
    NotFoundError,
    NscmaError,
    StoreAccessError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreFullError,
)
from nscma_torch.core.extras import require

_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_WHOSE = text(
    "SELECT set_config('nscma.user_id', :user_id, true), set_config('nscma.all_users', :all_users, true), "
    "set_config('lock_timeout', :wait, true)"
)
_LOCK_USER = text("SELECT pg_advisory_xact_lock_shared(:everybody), pg_advisory_xact_lock(:key)")
_LOCK = text("SELECT pg_advisory_xact_lock(:key)")
_DIMENSION = text("SELECT vector_dims(vector) FROM vectors LIMIT 1")
_BUSY = {"55P03", "40P01", "40001"}  # lock not available, deadlock, serialization failure
_FULL = {"53100", "53200", "53300"}  # disk, memory, connections


class PostgresDatabase(Database):
    """A store in one schema of a PostgreSQL database.

    Args:
        address: postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with `?schema=NAME` if several stores share the
            database. The schema and its tables are created if they don't exist, which requires the rights to do so.
        busy_timeout: seconds to wait while another process writes the same rows. Threads in this process wait for their
            turn without limit, and use no connection until then.

    Raises:
        StoreAccessError: the server cannot be reached or refuses the role, or psycopg is not installed.
        StoreFormatError: the schema contains another program's tables.
        StoreVersionError: written by a newer version of the library, or by one too old to upgrade from.
    """

    def __init__(self, address: str, *, busy_timeout: float) -> None:
        require("psycopg", extra="postgres", purpose="a store in PostgreSQL")
        self._address = parse(address)
        self.name = self._address.name
        self._busy_timeout = busy_timeout
        own = f"-c search_path={self._address.schema},public"
        options = " ".join(filter(None, (self._address.url.query.get("options"), own)))  # type: ignore[arg-type]
        self._engine = create_engine(
            self._address.url,
            connect_args={"options": options},
            pool_pre_ping=True,
            pool_size=8,
            max_overflow=24,
            pool_timeout=busy_timeout,
        )
        event.listen(self._engine, "connect", _configure)
        forks_and_file_locks.watch(self)
        try:
            with self._translated(), self._engine.begin() as connection:
                connection.execute(_LOCK, {"key": self._key("schema")})
                postgres_schema.prepare(connection, self._address.schema, self.name)
        except NscmaError:
            self.close()
            raise

    @contextmanager
    def read(self, whose: Whose) -> Iterator[Connection]:
        """Implement `Database.read`."""
        with self._translated(), self._engine.connect() as connection, connection.begin():
            connection.exec_driver_sql(_SNAPSHOT)
            connection.execute(_WHOSE, self._settings(whose, self._busy_timeout))
            yield connection

    @contextmanager
    def write(self, whose: Whose, *, wait: float | None = None) -> Iterator[Connection]:
        """Implement `Database.write`."""
        with (
            nullcontext(wait)
            if whose is ONE_BY_ONE
            else turn_of(WRITERS.of((self.name, whose)), self.name, wait) as left,
            self._translated(),
            self._engine.connect() as connection,
            connection.begin(),
        ):
            seconds = self._busy_timeout if left is None else min(left, self._busy_timeout)
            connection.execute(_WHOSE, self._settings(whose, seconds))
            if isinstance(whose, str):
                keys = {"everybody": self._key("all users"), "key": self._key(f"user {whose}")}
                connection.execute(_LOCK_USER, keys)
            elif whose is not ONE_BY_ONE:
                connection.execute(_LOCK, {"key": self._key(whose.value)})
            yield connection

    def _settings(self, whose: Whose, wait: float) -> Mapping[str, str]:
        return {
            "user_id": whose if isinstance(whose, str) else "",
            "all_users": "on" if whose in (ALL_USERS, ONE_BY_ONE) else "off",
            "wait": f"{max(1, int(wait * 1000))}ms",
        }

    def _key(self, what: str) -> int:
        """Return the number of an advisory lock for this store; lock numbers are shared by the whole database."""
        digest = hashlib.sha256(f"{self._address.schema}\0{what}".encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def rewrite(self) -> None:
        """Vacuum the store's tables, which removes deleted rows from their pages.

        Copies in the write-ahead log, replicas and backups remain as long as these are kept.
        """
        with self._translated(), self._engine.connect() as connection:
            free = connection.execution_options(isolation_level="AUTOCOMMIT")
            for name in all_tables().tables:
                free.exec_driver_sql(f'VACUUM "{name}"')

    def index_vectors(self, *, memory: str | None = None) -> bool:
        """Build the vector index, used to search users with many vectors; see `postgres_vectors`.

        Returns False if the index already exists. Building it doesn't block writers. Raises `NotFoundError` if the
        store has no vectors yet, `StoreAccessError` if the role doesn't own the tables.
        """
        with self.read(ALL_USERS) as connection:
            dimension = connection.execute(_DIMENSION).scalar()
        if dimension is None:
            raise NotFoundError(f"{self.name} has no vectors yet; add messages, then build the index")
        with self._translated(), self._engine.connect() as connection:
            free = connection.execution_options(isolation_level="AUTOCOMMIT")
            try:
                return vector_index.build(free, int(dimension), memory)
            finally:
                connection.invalidate()  # with what was set for it alone

    def files(self) -> tuple[Path, ...]:
        """Return an empty tuple: the server's files are inaccessible."""
        return ()

    def size(self) -> int:
        """Return the total size of the store's tables and indexes in bytes."""
        with self.read(NO_USER) as connection:
            return int(connection.execute(postgres_schema.SIZE, {"schema": self._address.schema}).scalar_one())

    def problems(self, connection: Connection) -> list[str]:  # noqa: ARG002 - foreign keys and indexes are its own to keep
        """Return an empty list: PostgreSQL maintains foreign keys and indexes itself."""
        return []

    def exposures(self) -> list[str]:
        """Report if row-level security doesn't apply to the role that these connections use."""
        with self.read(NO_USER) as connection:
            role, isolated = connection.execute(postgres_schema.ISOLATED_ROLE).one()
        if isolated:
            return []
        return [
            f"the role {role} is a superuser or has BYPASSRLS, which disables row-level security: create another "
            f"role, give it access with `nscma grant`, and connect with that role"
        ]

    def _explained(self, error: BaseException | None) -> NscmaError:
        """Convert a PostgreSQL error into one clear error."""
        code = getattr(error, "sqlstate", None) or ""
        said = getattr(getattr(error, "diag", None), "message_primary", None) or ("" if code else str(error))
        # the server's DETAIL may quote a row
        if code in _BUSY:
            return StoreBusyError(f"{self.name} is locked by another writer; try again, or raise store.busy_timeout")
        if code in _FULL:
            return StoreFullError(f"{self.name} is full ({said}); nothing was written")
        if code == "42501":
            return StoreAccessError(f"the role lacks the required rights in {self.name}: {said}; see `nscma grant`")
        if code in {"0A000", "58P01"} and "vector" in said:
            return StoreAccessError(f"the server for {self.name} has no pgvector; install it there")
        if code == "22021" or "NUL" in said:
            return EncodingError("a text contains a NUL character, which PostgreSQL cannot store; remove it")
        if not code or code[:2] in {"08", "28", "3D", "57"}:
            return StoreAccessError(f"{self.name} cannot be reached: {said}; unacknowledged writes may be lost")
        if code[:2] == "42":
            return StoreFormatError(f"{self.name} does not match this version's schema: {said}")
        return StoreError(f"{self.name}: {said}")


def _configure(driver: Any, _record: Any) -> None:
    driver.prepare_threshold = 2  # statements of every message are parsed and planned once in each connection
