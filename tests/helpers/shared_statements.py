"""SQLAlchemy's compiled statements, shared by the stores of one process.

Each engine compiles its statements itself, about 70 for a first `flush()`: more work than most tests are about. What a
compiled statement is depends on its structure and the dialect alone, so tests, which open a store each, compile once.
The library has one engine a store, as a program has one store, and shares nothing.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy
from sqlalchemy import URL, Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from nscma_torch.core.database import sqlite_database

_COMPILED: LRUCache[Any, Any] = LRUCache(3000)  # statements; all tests of one process have fewer


class SharingDialect(SQLiteDialect_pysqlite):
    """SQLite's, equal to any other: SQLAlchemy's cache has the dialect in its keys."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharingDialect)

    def __hash__(self) -> int:
        return hash(SharingDialect)


def _engine(url: URL, **arguments: Any) -> Engine:
    shared = url.set(drivername="sqlite+nscma_shared")
    return sqlalchemy.create_engine(shared, execution_options={"compiled_cache": _COMPILED}, **arguments)


def share() -> None:
    """Have each store that is opened from now on use what others have compiled."""
    registry.register("sqlite.nscma_shared", __name__, "SharingDialect")
    sqlite_database.create_engine = _engine  # type: ignore[attr-defined]
