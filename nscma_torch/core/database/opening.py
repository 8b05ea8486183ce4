"""Open a store by its address: the path of a SQLite file, or postgresql://…"""

from __future__ import annotations

from pathlib import Path

from nscma_torch.core.config import StoreConfig
from nscma_torch.core.database.database import Database
from nscma_torch.core.database.sqlite_database import SqliteDatabase
from nscma_torch.core.database.store_path import is_postgres


def open_database(store: str | Path, settings: StoreConfig) -> Database:
    """Open the store at an address; create it if it doesn't exist. Raises the errors of the database class used.

    `settings.max_pages` applies to SQLite files only.
    """
    if is_postgres(store):
        from nscma_torch.core.database.postgres_database import PostgresDatabase

        return PostgresDatabase(str(store), busy_timeout=settings.busy_timeout)
    return SqliteDatabase(store, busy_timeout=settings.busy_timeout, max_pages=settings.max_pages)
