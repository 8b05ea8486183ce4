"""Users of the store as a shell completes them. The store is read by SQLite alone, which takes no lock that waits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

_MOST = 50


def users(ctx: Any, incomplete: str) -> Iterator[str]:
    """The first users whose names begin so; none where there is no store that can be read at once."""
    store = Path(str(ctx.params.get("store") or ctx.lookup_default("store") or "nscma.db")).expanduser()
    if not store.is_file():
        return
    begins = incomplete.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"
    query = "SELECT user_id FROM users WHERE user_id LIKE ? ESCAPE '!' ORDER BY user_id LIMIT ?"
    try:
        # mode=ro would leave the -wal and -shm that it makes behind
        with closing(sqlite3.connect(f"{store.resolve().as_uri()}?mode=rw", uri=True, timeout=0)) as connection:
            connection.execute("PRAGMA query_only=1")
            yield from (name for (name,) in connection.execute(query, (begins, _MOST)))
    except sqlite3.Error:
        return  # a shell shows nothing where nothing can be completed
