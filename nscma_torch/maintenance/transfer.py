"""Export and import as JSON lines: a header, then one row per line, with referenced tables first.

The header contains the number of rows, to detect a truncated export. Importing into an empty store gives an equal
`digest()`. Row numbers are reassigned, so several exports can go into one store.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import Column, Connection, Select, Table, exc, select, true

from nscma_torch.core.capabilities import capabilities
from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.database import next_seqs, pages
from nscma_torch.core.database.dialects import JsonText, Time
from nscma_torch.core.database.schema import SCHEMA_VERSION, episodes, users
from nscma_torch.core.database.user_versions import first_version
from nscma_torch.core.errors import (
    EmbedderMismatchError,
    ForbiddenError,
    InvalidInputError,
    MalformedInputError,
    NotFoundError,
    ScopeError,
)
from nscma_torch.core.jobs import leases
from nscma_torch.core.records import Decision, Scope
from nscma_torch.episodic.index import fingerprint, unit_changes
from nscma_torch.episodic.log import check_log, summary_context
from nscma_torch.maintenance import check, salvage
from nscma_torch.text.files.json_messages import metadata_json

FORMAT = "nscma-export"
_DAMAGED = "damaged"  # key of the header: what could not be read
_DECIDED = {field.name for field in fields(Decision)} - {"parts"}
_INTEGERS = 1 << 63  # integers of both dialects end before it
_DAY = 86_400  # seconds
_BATCH = 1024


def export(
    connection: Connection, user_id: str | None = None, report: Callable[[str], None] = lambda _: None
) -> Generator[str, None, None]:
    """Yield the lines of an export, without line endings, for all users or one. Raises `NotFoundError` for an unknown
    user.

    From a damaged file, the readable messages and their history are exported; the header says so, and `report` is
    called with a sentence for each loss.
    """
    try:
        known = select(users.c.user_id).where(users.c.user_id == user_id)
        if user_id is not None and connection.execute(known).first() is None:
            raise NotFoundError(f"user {user_id!r} has no memory in this store; nothing to export")
        queries = {table: _of_table(table, user_id) for table in _tables()}
        rows = sum(_count(connection, query) for query in queries.values())  # as they are read below: damage shows
        own = fingerprint.stored(connection)
        store = {fingerprint.KEY: own, summary_context.KEY: summary_context.was_used(connection)}
    except exc.DBAPIError as error:
        if not salvage.is_damage(error):
            raise
        yield from _of_damaged(connection, user_id, report)
        return
    yield json.dumps({"format": FORMAT, "schema": SCHEMA_VERSION, **store, "rows": rows})
    for table, query in queries.items():
        with connection.execute(query.execution_options(yield_per=_BATCH)) as found:
            for row in map(dict, found.mappings()):
                if table is episodes:
                    salvage.empty_damaged_json(row, report)
                yield _line(table, row)


def _tables() -> list[Table]:
    """Return the tables in an export, referenced tables first."""
    return [table for capability in capabilities() for table in capability.tables]


def _by_name() -> dict[str, Table]:
    return {table.name: table for table in _tables()}


def _of_table(table: Table, user_id: str | None) -> Select[Any]:
    bound = true() if user_id is None else table.c.user_id == user_id
    return select(table).where(bound).order_by(*table.primary_key.columns)


def _count(connection: Connection, query: Select[Any]) -> int:
    with connection.execute(query.execution_options(yield_per=_BATCH)) as found:
        return sum(map(len, found.partitions()))


def _of_damaged(
    connection: Connection, user_id: str | None, report: Callable[[str], None]
) -> Generator[str, None, None]:
    lost: list[str] = []
    rows = salvage.log_rows(connection, user_id, lost.append)
    lost.append("what follows from messages (units, vectors, facts, hierarchies) is left out; an import makes it anew")
    for told in lost:
        report(told)
    header = {fingerprint.KEY: None, summary_context.KEY: False, "rows": len(rows), _DAMAGED: lost}
    yield json.dumps({"format": FORMAT, "schema": SCHEMA_VERSION, **header}, ensure_ascii=False)
    for table, row in rows:
        yield _line(table, row)


def _line(table: Table, row: Mapping[str, Any]) -> str:
    values = {k: base64.b64encode(v).decode() if isinstance(v, bytes) else v for k, v in row.items()}
    return json.dumps({"table": table.name, **values}, ensure_ascii=False)


def import_(
    connection: Connection,
    lines: Iterable[str],
    *,
    user_id: str | None = None,
    single: Collection[str] = (),
    rebuild: Callable[[Connection, str], None] = lambda _, __: None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Import an export inside a write transaction; return the number of rows.

    Rows must belong to users that the export itself declares and that are new to the store, and can only refer to rows
    of the same user. Anything that `check.problems` would report is rejected.

    Args:
        user_id: the only user that the export may contain; None allows any.
        single: the relations that have one object at a time.
        rebuild: recomputes the units for a user's messages, if the export comes from a damaged store.

    Raises:
        ForbiddenError: the export contains another user than `user_id`.
        MalformedInputError: a line can't be parsed or contradicts earlier lines (the error names the line), or the
            number of rows differs from the number in the header.
        EmbedderMismatchError: the export's vectors come from another embedder than this store's.
        InvalidInputError: the store already contains one of the users.
    """
    numbered = enumerate(lines, start=1)
    announced, damaged = _announced(connection, next(numbered, (1, ""))[1])
    shift: dict[tuple[str, int], int] = {}
    waiting: list[tuple[int, dict[str, Any]]] = []  # with their line numbers
    current: Table | None = None
    total = 0
    declared: set[str] = set()

    def write() -> None:
        if current is not None and waiting:
            _insert(connection, current, waiting, shift)
            waiting.clear()

    for number, line in numbered:
        if not line.strip():
            continue
        table, row = _parse(line, number)
        if table is not current or len(waiting) == _BATCH:
            write()
            current = table
        if table is users:
            if user_id not in (None, row["user_id"]):
                raise ForbiddenError(
                    f"the export contains user {row['user_id']!r}, but only {user_id!r} may be imported"
                )
            declared.add(row["user_id"])
        elif row["user_id"] not in declared:
            raise MalformedInputError(
                f"a row of user {row['user_id']!r}, whom the export does not declare before this line", line=number
            )
        waiting.append((number, row))
        total += 1
        if progress is not None:
            progress(total)
    write()
    if total != announced:
        raise MalformedInputError(
            f"the export has {total} of its {announced} rows: it was truncated, or several exports were joined; "
            "export again, or import them one by one"
        )
    for user in sorted(declared) if damaged else ():
        check_log.mend_messages(connection, user)
        rebuild(connection, user)
    for some in pages(sorted(declared)):
        broken = check.problems(connection, some, single=single)
        if broken:
            raise MalformedInputError(f"the export contradicts itself: {broken[0]}; nothing was imported")
    return total


def _announced(connection: Connection, line: str) -> tuple[int, bool]:
    """Validate a header against this store; return its number of rows, and True if it comes from a damaged store."""
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise MalformedInputError("not an nscma export: the header is missing", line=1)
    if header.get("schema") != SCHEMA_VERSION:
        raise MalformedInputError(
            f"the export has schema {header.get('schema')}, this version reads {SCHEMA_VERSION}; export again",
            line=1,
        )
    theirs, ours = header.get(fingerprint.KEY), fingerprint.stored(connection)
    if ours is None and theirs is not None:
        fingerprint.rebind(connection, str(theirs))
    elif theirs is not None and theirs != ours:
        raise EmbedderMismatchError(
            f"the export's vectors come from {theirs}, this store's from {ours}; run `nscma reembed` on one of them"
        )
    summaries = header.get(summary_context.KEY)
    if not isinstance(summaries, bool):
        raise MalformedInputError(f"{summary_context.KEY} in the header is not true or false; export again", line=1)
    if summaries:
        summary_context.note(connection)
    rows = header.get("rows")
    if not isinstance(rows, int) or rows < 0:
        raise MalformedInputError("the header does not give the number of rows; export again", line=1)
    return rows, bool(header.get(_DAMAGED))


def _parse(line: str, number: int) -> tuple[Table, dict[str, Any]]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MalformedInputError(f"not JSON ({error})", line=number) from error
    table = _by_name().get(str(row.pop("table", ""))) if isinstance(row, dict) else None
    if table is None or set(row) != {column.name for column in table.columns}:
        raise MalformedInputError("not an export row", line=number)
    for column in table.columns:
        try:
            row[column.name] = _value(column, row[column.name])
        except (ValueError, OverflowError, RecursionError) as error:
            raise MalformedInputError(f"{table.name}.{column.name} {error}", line=number) from error
    try:
        Scope(row["user_id"], row.get("agent_id"), row.get("run_id"))
    except ScopeError as error:
        raise MalformedInputError(str(error), line=number) from error
    return table, row


def _value(column: Column[Any], value: Any) -> Any:
    """Convert a value for a column. Raises `ValueError` if the value is unsuitable."""
    if value is None:
        if column.nullable:
            return None
        raise ValueError("is missing")
    kind = column.type.python_type
    known: dict[type, tuple[type, ...]] = {bytes: (str,), float: (int, float)}
    if not isinstance(value, known.get(kind, (kind,))) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"has type {type(value).__name__}, not {kind.__name__}")
    if kind is float and not math.isfinite(value):
        raise ValueError(f"is {value}")
    if kind is int and not -_INTEGERS <= value < _INTEGERS:
        raise ValueError("does not fit into 64 bits")
    if isinstance(column.type, Time):
        from_micros(value)
    if column.name == "utc_offset" and abs(value) >= _DAY:
        raise ValueError("is a day or more")
    if isinstance(column.type, JsonText):
        _check_json(column.name, json.loads(value))
    if kind is not bytes:
        return value
    data = base64.b64decode(value, validate=True)
    if column.name == "vector" and not _is_vector(data):
        raise ValueError("is not a vector of finite numbers")
    return data


def _check_json(name: str, value: Any) -> None:
    """Raise `ValueError` if the JSON stored for a message couldn't be read back."""
    if name in ("metadata", "decision") and not isinstance(value, dict):
        raise ValueError("is not an object")
    if name == "metadata":
        metadata_json(value)
    if name == "decision" and not {field.name for field in fields(Decision)} >= value.keys() >= _DECIDED:
        raise ValueError("is not a decision of the gate")


def _is_vector(data: bytes) -> bool:
    """Return True if the bytes are finite little-endian float32 numbers."""
    return len(data) % 4 == 0 and all(map(math.isfinite, struct.unpack(f"<{len(data) // 4}f", data)))


def _insert(
    connection: Connection, table: Table, numbered: list[tuple[int, dict[str, Any]]], shift: dict[tuple[str, int], int]
) -> None:
    rows = [row for _, row in numbered]
    if table is users:
        known = set(connection.execute(select(users.c.user_id)).scalars())
        clash = sorted(known & {row["user_id"] for row in rows})
        if clash:
            raise InvalidInputError(
                f"the store already contains user {clash[0]!r}; import into an empty store, or erase that user"
            )
        for row in rows:
            row |= first_version(connection)
            unit_changes.begin(connection, row["user_id"], row["generation"])
        leases.begin(connection, (row["user_id"] for row in rows))
    for column in table.c:
        if "counter" in column.info:
            for row, number in zip(rows, next_seqs(connection, column.info["counter"], len(rows)), strict=True):
                row[column.name] = number
    if "seq" in table.c:
        seqs = next_seqs(connection, table.name, len(rows))
        for seq, row in zip(seqs, rows, strict=True):
            shift[table.name, row["seq"]] = seq
            row["seq"] = seq
    for key in table.foreign_keys:
        name, target = key.parent.name, key.column.table.name
        if key.column.name != "seq":
            continue
        for number, row in numbered:
            if row[name] is None:
                continue
            if (target, row[name]) not in shift:
                raise MalformedInputError(f"refers to row {row[name]} of {target}, which does not exist", line=number)
            row[name] = shift[target, row[name]]
    try:
        connection.execute(table.insert(), rows)
    except exc.IntegrityError as error:
        raise MalformedInputError(
            f"a row of {table.name} at or before this line conflicts with another row: {error.orig}",
            line=numbered[-1][0],
        ) from error
