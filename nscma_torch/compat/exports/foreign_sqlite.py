"""Read other programs' SQLite files, opened read-only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from nscma_torch.core.errors import InvalidInputError, MalformedInputError


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection whose rows are accessible by column name.

    Raises `InvalidInputError` for a missing file, `MalformedInputError` for a file that isn't a SQLite database.
    """
    if not path.is_file():
        raise InvalidInputError(f"there is no file {path}")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            yield connection
    except sqlite3.Error as error:
        raise MalformedInputError(f"{path} is not a readable database: {error}") from error


def rows(connection: sqlite3.Connection, query: str, values: Sequence[Any] = ()) -> Iterator[sqlite3.Row]:
    """Yield the rows that a query returns, one by one."""
    yield from connection.execute(query, values)


def tables(connection: sqlite3.Connection) -> set[str]:
    """Return the names of the database's tables."""
    return {row["name"] for row in rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")}
