"""Find a store's users by prefix, for shell completion, without ever waiting."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_MOST = 50


def beginning_with(store: Path, begins: str) -> list[str]:
    """Return the first users with this prefix, in order; empty if the store can't be read without waiting."""
    pattern = begins.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"
    query = "SELECT user_id FROM users WHERE user_id LIKE ? ESCAPE '!' ORDER BY user_id LIMIT ?"
    path = store.expanduser()
    if not path.is_file():
        return []
    try:
        # mode=ro would leave the -wal and -shm that it makes behind
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=0)) as connection:
            connection.execute("PRAGMA query_only=1")
            return [name for (name,) in connection.execute(query, (pattern, _MOST))]
    except sqlite3.Error:
        return []
