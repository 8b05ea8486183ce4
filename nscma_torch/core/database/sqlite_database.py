"""A store in one SQLite file.

The database uses WAL, `synchronous=FULL`, and BEGIN IMMEDIATE for write transactions: data committed by `write()`
survives a kill at any instant, and writers never deadlock by upgrading a read. Deleted bytes are zeroed
(`secure_delete`).
"""

from __future__ import annotations

import shlex
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event

from nscma_torch.core.database import forks_and_file_locks, migrations, schema, store_path
from nscma_torch.core.database.database import ALL_USERS, Database, Whose
from nscma_torch.core.database.turn_queue import WRITERS, turn_of
from nscma_torch.core.errors import (
    NscmaError,
    StoreAccessError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreFullError,
)

_POLL = 0.01  # seconds


class SqliteDatabase(Database):
    """A store in one file. A transaction can access every row, whatever user it is opened for.

    Args:
        path: the file, which is created with its schema if it doesn't exist.
        busy_timeout: seconds to wait while another process is writing. Threads in this process wait for their turn
            without limit.
        max_pages: maximum size in pages of 4096 bytes, 0 for no limit.

    Raises:
        StoreFormatError: not a SQLite database, or not an nscma store. The file is left untouched.
        StoreVersionError: written by a newer version of the library, or by one too old to upgrade from. The file is
            left untouched.
        StoreAccessError: the file or folder cannot be read or written.
    """

    def __init__(self, path: Path | str, *, busy_timeout: float, max_pages: int = 0) -> None:
        self.path = store_path.located(path)
        self.name = str(self.path)
        self._pragmas: dict[str, Any] = {
            "busy_timeout": int(busy_timeout * 1000),
            "synchronous": "FULL",
            "foreign_keys": "ON",
            "secure_delete": "ON",
        }
        if max_pages:
            self._pragmas["max_page_count"] = max_pages
        self._file = forks_and_file_locks.created(self.path)
        store_path.refuse_foreign(self.path)
        self._engine = create_engine(
            URL.create("sqlite", database=str(self.path)),
            connect_args={"timeout": busy_timeout},
            max_overflow=-1,  # as many readers at once as there are threads
        )
        event.listen(self._engine, "do_connect", self._connect)
        event.listen(self._engine, "connect", self._configure)
        event.listen(self._engine, "begin", _begin)
        forks_and_file_locks.watch(self)
        try:
            self._prepare()
        except NscmaError:
            self.close()
            raise

    def _connect(self, _dialect: Any, _record: Any, _arguments: Any, named: dict[str, Any]) -> sqlite3.Connection:
        return forks_and_file_locks.connect(self.path, self._file, **named)

    def _configure(self, connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy's "begin" event says BEGIN, not the driver
        for name, value in self._pragmas.items():
            connection.execute(f"PRAGMA {name}={value}")

    def _prepare(self) -> None:
        """Create the schema, or check and upgrade an existing schema."""
        with self._translated(), self._engine.connect() as connection:
            application = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            empty = not connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.rollback()
            if application != store_path.APPLICATION_ID and not empty:  # it came between the look at it and here
                raise StoreFormatError(f"{self.path} is another program's SQLite file; name another file")
            if application:
                migrations.check(self.name, version)
        if not application or version < schema.SCHEMA_VERSION:
            with self.write(ALL_USERS) as connection:
                migrations.prepare_sqlite(connection, self.name)
        self._use_wal()

    def _use_wal(self) -> None:
        """Switch the file to WAL. This briefly needs exclusive access, and SQLite itself doesn't wait for it."""
        give_up = time.monotonic() + self._pragmas["busy_timeout"] / 1000
        while True:
            try:
                with self.driver() as connection:
                    mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                break
            except StoreBusyError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(_POLL)
        if mode != "wal":
            raise StoreAccessError(f"the file system of {self.path} has no shared memory for SQLite; use a local disk")

    @contextmanager
    def read(self, whose: Whose) -> Iterator[Connection]:  # noqa: ARG002 - all rows are there
        """Implement `Database.read`. The transaction ends without a commit, which would fail after reading a damaged
        page."""
        with self._translated(), self._engine.connect() as connection:
            connection.begin()
            yield connection

    @contextmanager
    def write(  # one writer for all
        self,
        whose: Whose,  # noqa: ARG002
        *,
        wait: float | None = None,
    ) -> Iterator[Connection]:
        """Implement `Database.write`.

        Raises `StoreAccessError` if the file was removed or replaced, or its -wal removed, while it was open.
        """
        with (
            turn_of(WRITERS.of(self._file), self.name, wait) as left,
            self._translated(),
            self._engine.connect() as connection,
            self._waiting(connection, left),
        ):
            connection = connection.execution_options(nscma_write=True)
            with connection.begin():
                forks_and_file_locks.check_in_place(self.path, self._file)
                yield connection
            forks_and_file_locks.check_in_place(self.path, self._file)

    @contextmanager
    def _waiting(self, connection: Connection, seconds: float | None) -> Iterator[None]:
        """Temporarily set another busy timeout on a connection."""
        own = self._pragmas["busy_timeout"]
        if seconds is None or seconds * 1000 >= own:
            yield
            return
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")
        try:
            yield
        finally:
            driver.execute(f"PRAGMA busy_timeout={own}")

    @contextmanager
    def driver(self) -> Iterator[sqlite3.Connection]:
        """Yield the driver's connection outside any transaction, for commands such as VACUUM."""
        with self._translated():
            raw = self._engine.raw_connection()
            try:
                connection = raw.driver_connection
                assert isinstance(connection, sqlite3.Connection)
                yield connection
            finally:
                raw.close()

    def rewrite(self) -> None:
        """Rewrite the file without free pages, and empty the -wal file."""
        with turn_of(WRITERS.of(self._file), self.name), self.driver() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("VACUUM")
            ((held, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if held:
            raise StoreBusyError(f"another reader still uses an old snapshot of {self.path}")

    def files(self) -> tuple[Path, ...]:
        """Return the file and its side files. Only SQLite may open them: see docs/store-file.md."""
        return tuple(path for path in store_path.names(self.path) if path.exists())

    def size(self) -> int:
        """Return the files' total size in bytes."""
        return sum(path.stat().st_size for path in self.files())

    def problems(self, connection: Connection) -> list[str]:
        """Return the problems found by SQLite's own checks of pages, indexes and foreign keys."""
        unsound = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
        found = [f"SQLite: {what}" for what in unsound if what != "ok"]
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check")
        return found + [f"foreign key: row {row[1]} of {row[0]}" for row in broken]

    def exposures(self) -> list[str]:
        """Return a sentence naming the files that other users of this machine can read or write, if any."""
        open_files = [shlex.quote(str(file)) for file in self.files() if store_path.open_to_others(file)]
        told = f"other users of this machine can read or write the store: chmod 600 {' '.join(open_files)}"
        return [told] if open_files else []

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with super()._translated():
                yield
        except sqlite3.Error as error:  # of the driver's own connection, which SQLAlchemy does not see
            raise self._explained(error) from error

    def _explained(self, error: BaseException | None) -> StoreError:
        """Convert a SQLite error into one clear error."""
        code = (getattr(error, "sqlite_errorname", None) or "").removeprefix("SQLITE_").split("_")[0]
        path = self.path
        match code:
            case "FULL":
                return StoreFullError(
                    f"no space left for {path}, so nothing was written; free some space, or raise store.max_pages"
                )
            case "BUSY" | "LOCKED":
                return StoreBusyError(f"{path} is locked by another process; try again, or raise store.busy_timeout")
            case "READONLY" | "CANTOPEN" | "PERM" | "AUTH":
                return StoreAccessError(f"{path} or its folder cannot be written; check its permissions")
            case "NOTADB":
                return StoreFormatError(f"{path} is not a SQLite database; name another file")
            case "CORRUPT":
                return StoreFormatError(
                    f"{path} is corrupt; restore a copy, or export what can be read with `nscma export`"
                )
        return StoreError(f"{path}: {error}")


def _begin(connection: Connection) -> None:
    write = connection.get_execution_options().get("nscma_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
