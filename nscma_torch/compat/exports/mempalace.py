"""Read MemPalace's drawers from a palace's `chroma.sqlite3` or `sqlite_exact.sqlite3`.

A drawer is a verbatim section of a file or a conversation. It becomes a message with role "document" and the file as
its source, with wing, room and hall in its metadata. Closets, which point to drawers, and the knowledge graph are not
imported.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from nscma_torch.compat.exports.foreign import Foreign, Found, time_in
from nscma_torch.compat.exports.foreign_sqlite import opened, rows
from nscma_torch.core.errors import InvalidInputError, MalformedInputError
from nscma_torch.core.records import Message

_COLLECTION = "mempalace_drawers"
_CHROMA = """
    SELECT e.embedding_id AS id, m.key AS key,
           coalesce(m.string_value, m.int_value, m.float_value, m.bool_value) AS value
    FROM embeddings e
    JOIN segments s ON s.id = e.segment_id AND s.scope = 'METADATA'
    JOIN collections c ON c.id = s.collection
    JOIN embedding_metadata m ON m.id = e.id
    WHERE c.name = ? ORDER BY e.id
"""
_EXACT = """
    SELECT d.id AS id, d.document AS document, d.metadata_json AS metadata
    FROM documents d JOIN collections c ON c.id = d.collection_id WHERE c.name = ? ORDER BY d.rowid
"""
_DOCUMENT = "chroma:document"
_Drawer = tuple[str, str, dict[str, Any]]
_TECHNICAL = frozenset({_DOCUMENT, "id_recipe", "normalize_version", "convo_chunker_version", "source_mtime"})


def read(path: Path) -> Iterator[Found]:
    """Yield the drawers in a palace (given by its folder or its database file), ordered by file and section."""
    file = _file(path)
    reader = _exact if file.name.startswith("sqlite_exact") else _chroma
    with opened(file) as connection:
        found = list(reader(connection, file))
    yield from (one for one in found if isinstance(one, InvalidInputError))
    drawers = [one for one in found if not isinstance(one, InvalidInputError)]
    for key, text, fields in sorted(drawers, key=lambda drawer: _order(drawer[2])):
        if text.strip() and fields.get("ingest_mode") != "registry":
            when, faults = time_in(fields.get("authored_at"), fields.get("filed_at"))
            yield Foreign(_message(key, text, fields, when), {}, faults=faults)


def _file(path: Path) -> Path:
    if path.is_file():
        return path
    for folder in (path, path / "palace"):
        for name in ("chroma.sqlite3", "sqlite_exact.sqlite3"):
            if (folder / name).is_file():
                return folder / name
    raise InvalidInputError(f"{path} is not a palace: it has neither chroma.sqlite3 nor sqlite_exact.sqlite3")


def _message(key: str, text: str, fields: Mapping[str, Any], when: datetime | None) -> Message:
    source = fields.get("source_file")
    place = f"{fields.get('wing') or 'unknown'}/{fields.get('room') or 'general'}"
    return Message(
        role="document",
        content=text,
        timestamp=when,
        source=source if isinstance(source, str) and source else place,
        metadata={name: value for name, value in fields.items() if name not in _TECHNICAL},
        idempotency_key=f"mempalace:{key}",
    )


def _order(fields: Mapping[str, Any]) -> tuple[str, int]:
    number = fields.get("chunk_index")
    return str(fields.get("source_file") or ""), number if isinstance(number, int) else 0


def _chroma(connection: sqlite3.Connection, _: Path) -> Iterator[_Drawer]:
    drawers: dict[str, dict[str, Any]] = {}
    for row in rows(connection, _CHROMA, (_COLLECTION,)):
        drawers.setdefault(row["id"], {})[row["key"]] = row["value"]
    for key, fields in drawers.items():
        yield key, str(fields.get(_DOCUMENT) or ""), fields


def _exact(connection: sqlite3.Connection, file: Path) -> Iterator[_Drawer | InvalidInputError]:
    for row in rows(connection, _EXACT, (_COLLECTION,)):
        try:
            fields = json.loads(row["metadata"])
        except ValueError as error:
            yield MalformedInputError(f"{file}: the metadata of drawer {row['id']} is not JSON: {error}")
            continue
        yield row["id"], str(row["document"] or ""), fields if isinstance(fields, dict) else {}
