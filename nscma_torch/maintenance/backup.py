"""Back up a store in a file while it is in use, and verify the backup before it gets its name."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from nscma_torch.core.config import StoreConfig
from nscma_torch.core.database import store_path
from nscma_torch.core.database.database import Database
from nscma_torch.core.database.sqlite_database import SqliteDatabase
from nscma_torch.core.errors import StoreAccessError, StoreError, StoreFormatError
from nscma_torch.maintenance import check


def back_up(database: Database, target: Path, settings: StoreConfig, *, single: Collection[str] = ()) -> int:
    """Write a snapshot of a store to a new file with mode 0600; return its bytes.

    The snapshot is taken by SQLite's online backup in one read transaction, so others can write meanwhile. It is
    itself a store.

    Args:
        single: the relations that have only one object at a time, see `check.problems`.

    Raises:
        StoreAccessError: the target exists, or its folder can't be written.
        StoreFormatError: the snapshot isn't sound. The target isn't created.
        StoreError: the store is in PostgreSQL.
    """
    if not isinstance(database, SqliteDatabase):
        raise StoreError("back up a PostgreSQL store with pg_dump; docs/postgresql.md says how")
    path = store_path.located(target)
    if any(file.exists() for file in store_path.names(path)):
        raise StoreAccessError(f"{path} exists; name a new file, or remove it")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)  # mode 0600
    except OSError as error:
        raise StoreAccessError(f"cannot write to {path.parent}: {error.strerror}") from error
    os.close(descriptor)
    part = Path(name)
    try:
        with database.driver() as source, closing(sqlite3.connect(part)) as copied:
            source.backup(copied)
        with closing(SqliteDatabase(part, busy_timeout=settings.busy_timeout)) as snapshot:
            found = check.store_problems(snapshot, single=single)
        if found:
            raise StoreFormatError(
                f"the backup of {database.name} is not sound, and was not kept: {found[0]}; `nscma doctor` lists all"
            )
        part.rename(path)
        _sync_folder(path.parent)
    finally:
        for file in store_path.names(part):
            file.unlink(missing_ok=True)
    return path.stat().st_size


def _sync_folder(folder: Path) -> None:
    """Bring a new name to disk; SQLite has done so with the file's content. On Windows a folder can't be opened."""
    if os.name != "nt":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
