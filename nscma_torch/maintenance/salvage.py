"""Read as much of a damaged SQLite store's log as possible: users, streams, messages and their history.

Data derived from messages (units, vectors, facts) is not read, because an import recomputes it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import ColumnClause, Connection, Table, exc, literal_column, select

from nscma_torch.core.database.schema import episodes, history, streams, users
from nscma_torch.core.records import Scope
from nscma_torch.episodic.log.check_log import damaged_json
from nscma_torch.episodic.log.episodes import text_hash
from nscma_torch.episodic.log.streams import stream_id_of

LOG: tuple[Table, ...] = (users, streams, episodes, history)
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
Row = dict[str, Any]


def is_damage(error: exc.DBAPIError) -> bool:
    """Return True if the database file itself is damaged."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in _CORRUPT


def log_rows(connection: Connection, user_id: str | None, report: Callable[[str], None]) -> list[tuple[Table, Row]]:
    """Return the readable rows in the log, for all users or one, in the order that an import needs.

    `report` is called with a sentence for each loss. Lost stream and user rows are reconstructed from the messages.
    """
    found: dict[str, list[Row]] = {}
    for table in LOG:
        rows, whole = _scanned(connection, table)
        found[table.name] = [row for row in rows if user_id in (None, row["user_id"])]
        if not whole:
            report(f"table {table.name} is damaged: {len(found[table.name]):,} of its rows can be read")
    said = found[episodes.name]
    for row in said:
        empty_damaged_json(row, report)
        if row["text_hash"] != text_hash(row["text"]):
            row["text_hash"] = text_hash(row["text"])
            report(f"the text of message {row['id']} is damaged: it differs from the stored text")
    known = {row["seq"] for row in said}
    told = [row for row in found[history.name] if row["episode_seq"] in known]
    if len(told) < len(found[history.name]):
        report(f"{len(found[history.name]) - len(told):,} history entries belong to lost messages")
    of_streams = _streams(found[streams.name], said)
    owners = {row["user_id"] for row in (*found[users.name], *of_streams)}
    of_users = [{"user_id": owner, "generation": 0, "epoch": 0} for owner in sorted(owners)]
    tables = ((users, of_users), (streams, of_streams), (episodes, said), (history, told))
    return [(table, row) for table, rows in tables for row in rows]


def empty_damaged_json(row: Row, report: Callable[[str], None]) -> None:
    """Empty a message's unreadable JSON columns, and call `report` for each."""
    for column in damaged_json(row):
        row[column] = "{}" if column == "metadata" else None
        report(f"{column} of message {row['id']} is damaged and was omitted")


def _scanned(connection: Connection, table: Table) -> tuple[list[Row], bool]:
    """Read a table from both ends up to the damage, without using any index; return the rows, and True if complete."""
    place: ColumnClause[int] = literal_column("rowid")
    found: dict[int, Row] = {}
    for order in (place.asc(), place.desc()):
        query = select(place.label("place"), *table.c).select_from(table).order_by(order)
        try:
            with connection.execute(query.execution_options(yield_per=1)) as rows:
                for row in rows.mappings():
                    found[row["place"]] = {column.name: row[column.name] for column in table.c}
        except exc.DBAPIError as error:
            if not is_damage(error):
                raise
        else:
            return list(found.values()), True
    return [found[key] for key in sorted(found)], False


def _streams(known: Iterable[Row], said: Iterable[Row]) -> list[Row]:
    """Return the streams of all messages; if a stream's row is lost, the stream restarts, and its document gets a name
    made from its id.
    """
    by_id = {row["id"]: dict(row) for row in known}
    for row in said:
        stream = by_id.setdefault(
            row["stream_id"],
            {**dict.fromkeys(column.name for column in streams.c), **_named(row), "next_position": 0, "version": 1},
        )
        row["stream_id"] = stream["id"]
        stream["next_position"] = max(stream["next_position"], row["position"] + 1)
    return sorted(by_id.values(), key=lambda stream: str(stream["id"]))


def _named(said: Row) -> Row:
    """Return the id, scope and source of a stream with a lost row: either the conversation's, or those of an unnamed
    document.
    """
    own = {name: said[name] for name in ("user_id", "agent_id", "run_id")}
    scope, key = Scope(**own), said["stream_id"]
    source = None if key == stream_id_of(scope) else f"lost document {key[:8]}"
    return {**own, "id": stream_id_of(scope, source), "source": source}
