"""Read messages for many users from JSON lines and Parquet files.

A row is `{"user_id", "role", "content", "agent_id"?, "run_id"?, "id"?, "session"?, "source"?, "name"?, "timestamp"?,
"metadata"?}`. `id` is the message's idempotency key, unique per user; if missing, it is generated as in
`text.file_keys`, so rows can be appended to a file later. All other keys are stored as metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from nscma_torch.api.validation import checked_message
from nscma_torch.core.config import LimitsConfig
from nscma_torch.core.errors import EmptyTextError, InvalidInputError
from nscma_torch.core.extras import require
from nscma_torch.core.records import Message, Scope
from nscma_torch.text.files.file_keys import FileKeys, place_of
from nscma_torch.text.files.json_messages import json_line_values, label, lines_of, parse_message

LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
_EXAMPLE = '{"user_id": "ana", "role": "user", "content": "…"}'
_ROWS = 1024  # of a Parquet file that are decoded at once


@dataclass(frozen=True, slots=True)
class BulkRow:
    """A message and the user it belongs to."""

    scope: Scope
    message: Message


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file in which every row can be stored, and the number of rows."""

    path: Path
    rows: int


def files_of(paths: Sequence[str]) -> list[Path]:
    """Return the named files, each once; folders are searched for JSON lines and Parquet files, and patterns are
    expanded.

    Raises `InvalidInputError` if a name matches nothing, or matches a file of another kind.
    """
    found: dict[Path, None] = {}
    for name in paths:
        path = Path(name)
        if path.is_dir():
            own = sorted(one for one in path.rglob("*") if one.suffix.lower() in (*LINES, PARQUET) and one.is_file())
        elif path.is_file():
            own = [path]
        else:
            own = sorted(one for one in _matching(path) if one.is_file())
        if not own:
            raise InvalidInputError(f"there is no file {name}; name files or folders of {', '.join((*LINES, PARQUET))}")
        found.update(dict.fromkeys(own))
    for path in found:
        if path.suffix.lower() not in (*LINES, PARQUET):
            raise InvalidInputError(
                f"{path}: only {', '.join((*LINES, PARQUET))} files can contain rows for many users; "
                "use `nscma add` for other files"
            )
    return list(found)


def _matching(pattern: Path) -> Iterator[Path]:
    """Return the files matching a pattern such as logs/*.jsonl."""
    inside = pattern.relative_to(pattern.anchor) if pattern.anchor else pattern
    try:
        return Path(pattern.anchor or ".").glob(str(inside))
    except (ValueError, OSError) as error:
        raise InvalidInputError(f"{pattern} is neither a file nor a pattern: {error}") from error


def check_file(path: Path, limits: LimitsConfig, now: datetime, *, user_id: str | None = None) -> CheckedFile:
    """Check a whole file. Raises `InvalidInputError`, which names the file and row, if a row can't be stored."""
    rows = sum(1 for _ in read_rows(path, limits, now, user_id=user_id))
    if not rows:
        raise EmptyTextError(f"{path} is empty: it has no messages")
    return CheckedFile(path, rows)


def read_rows(path: Path, limits: LimitsConfig, now: datetime, *, user_id: str | None = None) -> Iterator[BulkRow]:
    """Yield the rows in a file, in order. `user_id` is the user for rows that name none; errors as in `check_file`."""
    lines = path.suffix.lower() in LINES
    unit = "line" if lines else "row"
    keys: dict[str, FileKeys] = {}  # by user
    place = place_of(path)
    try:
        for number, value in _line_values(path, limits) if lines else _parquet_values(path):
            try:
                row = _row(value, user_id)
                checked_message(row.message, limits, now)
            except InvalidInputError as error:
                raise type(error)(f"{unit} {number}: {error}") from error
            if row.message.idempotency_key is None:
                own = keys.setdefault(row.scope.user_id, FileKeys(place))
                row = replace(row, message=replace(row.message, idempotency_key=own.key(row.message)))
            yield row
    except InvalidInputError as error:
        raise type(error)(f"{path}: {error}") from error


def _row(value: object, user_id: str | None) -> BulkRow:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"a row must be an object such as {_EXAMPLE}")
    fields = dict(value)
    user, agent, run, source, own = (
        label(name, fields.pop(name, None)) for name in ("user_id", "agent_id", "run_id", "source", "id")
    )
    if user is None and user_id is None:
        raise InvalidInputError(f'no "user_id"; write rows like {_EXAMPLE}, or set one user for all rows (--user)')
    if isinstance(fields.get("metadata"), str):  # of a Parquet file
        fields["metadata"] = _parsed(fields["metadata"])
    message = parse_message(fields)
    key = own or message.idempotency_key
    return BulkRow(Scope(user or user_id or "", agent, run), replace(message, source=source, idempotency_key=key))


def _line_values(path: Path, limits: LimitsConfig) -> Iterator[tuple[int, Any]]:
    try:
        stream = path.open("rb")
    except OSError as error:
        raise InvalidInputError(f"cannot read it: {error.strerror}") from error
    with stream:
        yield from json_line_values(lines_of(stream, limits.max_message_bytes), limits.max_message_bytes)


def _parquet_values(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the number (from 1) and the values of each row in a Parquet file, without nulls."""
    arrow = require("pyarrow", extra="ray", purpose="reading Parquet")
    parquet = require("pyarrow.parquet", extra="ray", purpose="reading Parquet")
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                for values in batch.to_pylist(maps_as_pydicts="strict"):
                    number += 1
                    yield number, _without_nulls(values)
    except (arrow.ArrowException, OSError) as error:
        raise InvalidInputError(f"not a Parquet file that can be read: {error}") from error


def _without_nulls(value: Any) -> Any:
    """Convert a row or a nested struct to the form it has in JSON lines."""
    if isinstance(value, Mapping):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return value


def _parsed(metadata: str) -> Any:
    try:
        return json.loads(metadata)
    except ValueError as error:
        raise InvalidInputError(f"metadata is a string but not a JSON object: {error}") from error
