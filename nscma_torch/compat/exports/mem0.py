"""Read mem0's memories: JSON from `get_all` or its server, a local Qdrant or FAISS store, or `history.db`.

A vector store contains each memory's owner; `history.db` has neither owners nor metadata, so only the latest texts are
read from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nscma_torch.compat.exports.archives import json_files
from nscma_torch.compat.exports.foreign import Foreign, Found, role_of, time_in, until_fault
from nscma_torch.compat.exports.foreign_sqlite import opened, rows, tables
from nscma_torch.compat.exports.qdrant_points import payloads
from nscma_torch.compat.mem0.expiry import day_of, end_of
from nscma_torch.compat.mem0.scopes import IDS
from nscma_torch.core.errors import InvalidInputError, MalformedInputError
from nscma_torch.core.records import Message

_OWN = frozenset(
    {"id", "memory", "data", "hash", "metadata", "score", "score_details", "created_at", "updated_at", "actor_id"}
    | {"role", "expiration_date", "text_lemmatized", "attributed_to", *IDS}
)
_Item = Mapping[str, Any] | InvalidInputError
_HISTORY = """
    SELECT memory_id, new_memory, created_at, updated_at, is_deleted, actor_id, role FROM history
    ORDER BY created_at, DATETIME(updated_at), rowid
"""


def read(path: Path) -> Iterator[Found]:
    """Yield the memories in the source's order, or by time if it has no order."""
    if path.is_dir():
        items = _folder(path)
    elif path.suffix == ".json":
        items = _json(path)
    else:
        items = _database(path)
    memories = []
    for item in items:
        if isinstance(item, InvalidInputError):
            yield item
        else:
            memories.append(item)
    for item in sorted(memories, key=lambda item: str(item.get("created_at") or "")):
        text = item.get("memory") or item.get("data")
        if isinstance(text, str) and text.strip():
            yield from until_fault(_foreign(text, item))


def _foreign(text: str, item: Mapping[str, Any]) -> Iterator[Found]:
    when, faults = time_in(item.get("created_at"))
    kept = {key: value for key, value in item.items() if key not in _OWN}
    inner = item.get("metadata")
    metadata = {**kept, **(inner if isinstance(inner, Mapping) else {})}
    name = item.get("actor_id")
    message = Message(
        role=role_of(item.get("role")),
        content=text,
        timestamp=when,
        name=name if isinstance(name, str) and name else None,
        metadata=metadata,
        idempotency_key=f"mem0:{item['id']}",
    )
    ids = {name: item[name] for name in IDS if item.get(name)}
    yield Foreign(message, ids, end_of(day_of(item.get("expiration_date"))), faults)


def _folder(path: Path) -> Iterator[_Item]:
    stores = [
        file
        for file in sorted(path.glob("collection/*/storage.sqlite"))
        if not file.parent.name.endswith("_entities") and file.parent.name != "mem0migrations"
    ]
    if stores:
        for store in stores:
            yield from ({**payload, "id": key} for key, payload in payloads(store))
    elif (path / "history.db").is_file():
        yield from _database(path / "history.db")
    else:
        raise InvalidInputError(
            f"{path} is neither a local Qdrant store nor a folder that contains history.db; name a file"
        )


def _json(path: Path) -> Iterator[_Item]:
    for name, content in json_files(path, r".*\.json"):
        if isinstance(content, Mapping) and isinstance(content.get("docstore"), Mapping):  # FAISS
            for key, payload in content["docstore"].items():
                if isinstance(payload, Mapping):
                    yield {**payload, "id": key}
                else:
                    yield MalformedInputError(f"{name}: {key} is not an object but {type(payload).__name__}")
            return
        items = content.get("results", content.get("memories")) if isinstance(content, Mapping) else content
        if not isinstance(items, list):
            raise MalformedInputError(f'{name} is not what mem0 gives: {{"results": […]}}, a list, or a FAISS docstore')
        for number, item in enumerate(items, start=1):
            if isinstance(item, Mapping) and "id" in item:
                yield item
            else:
                yield MalformedInputError(f"{name}: memory {number} is not an object with an id")


def _database(path: Path) -> Iterator[_Item]:
    with opened(path) as connection:
        known = tables(connection)
        if "points" in known:
            yield from ({**payload, "id": key} for key, payload in payloads(path))
            return
        if "history" not in known:
            raise MalformedInputError(f"{path} is not a mem0 database: it has no table history")
        last: dict[str, dict[str, Any]] = {}
        for row in rows(connection, _HISTORY):
            key = row["memory_id"]
            if row["is_deleted"] or row["new_memory"] is None:
                last.pop(key, None)
                continue
            first = last.get(key, {}).get("created_at") or row["created_at"] or row["updated_at"]
            last[key] = {
                "id": key,
                "memory": row["new_memory"],
                "created_at": first,
                "actor_id": row["actor_id"],
                "role": row["role"],
            }
        yield from last.values()
