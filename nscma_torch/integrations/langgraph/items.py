"""Convert a store's items to messages with searchable text, and messages back to items."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langgraph.store.base import Item, SearchItem, get_text_at_path

from nscma_torch.core.config import LimitsConfig
from nscma_torch.core.errors import InvalidInputError, TextTooLargeError
from nscma_torch.core.records import Episode, Message, Scope
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.text.files.json_messages import metadata_json

FIELD = "langgraph"  # of a message's metadata: the item
_SOURCE = "langgraph:"
WHOLE = "$"


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """A validated item to be stored, or to be deleted if its value is None. If `text` is None, searches don't find
    it.
    """

    scope: Scope
    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any] | None
    text: str | None = None

    @property
    def idempotency_key(self) -> str:
        """Return the idempotency key for the item's message."""
        return idempotency_key(self.namespace, self.key)

    def message(self, *, created_at: datetime, updated_at: datetime) -> Message:
        """Return the message that stores the item."""
        held = {
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "indexed": self.text is not None,
            "created_at": created_at.isoformat(),
            "updated_at": updated_at.isoformat(),
        }
        text = f"{'/'.join(self.namespace)}: {self.key}" if self.text is None else self.text
        return Message(
            "user",
            text,
            source=source_of(self.namespace),
            metadata={FIELD: held},
            idempotency_key=self.idempotency_key,
        )


def source_of(namespace: Sequence[str]) -> str:
    """Return the `Message.source` for items in a namespace; it begins with the source for each parent namespace."""
    return _SOURCE + "/".join(namespace)


def idempotency_key(namespace: Sequence[str], key: str) -> str:
    """Return the idempotency key for an item's message."""
    return derive_id(FIELD, json.dumps([list(namespace), key]))


def held_by(episode: Episode) -> Mapping[str, Any] | None:
    """Return the item stored in a message (namespace, key, value, …), or None if the message doesn't store an item."""
    held = episode.metadata.get(FIELD)
    return held if isinstance(held, Mapping) and (episode.source or "").startswith(_SOURCE) else None


def item_of(held: Mapping[str, Any]) -> Item:
    """Convert a stored item to the result type of `get`."""
    return Item(**_fields(held))


def search_item_of(held: Mapping[str, Any], score: float | None = None) -> SearchItem:
    """Convert a stored item to the result type of `search`."""
    return SearchItem(**_fields(held), score=score)


def _fields(held: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: datetime.fromisoformat(held[name]) for name in ("created_at", "updated_at")}
    return {"namespace": tuple(held["namespace"]), "key": held["key"], "value": held["value"], **times}


def checked_value(value: object, limits: LimitsConfig) -> dict[str, Any]:
    """Return a copy of a value that has only JSON types: tuples become lists.

    Raises `InvalidInputError` for a value that isn't JSON-serialisable, `TextTooLargeError` for a value above
    `limits.max_message_bytes`.
    """
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"the value of an item must map names to values, got {type(value).__name__}")
    plain: dict[str, Any] = _plain(value)
    size = len(metadata_json(plain).encode())
    if size > limits.max_message_bytes:
        raise TextTooLargeError(
            f"the value of an item has {size:,} bytes, more than limits.max_message_bytes = "
            f"{limits.max_message_bytes:,}; split it, or raise the limit"
        )
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        if any(not isinstance(key, str) for key in value):
            raise InvalidInputError(f"the value of an item has a key that is not a string: {list(value)!r:.80}")
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def checked_paths(paths: object) -> tuple[str, ...]:
    """Validate paths into values. Raises `InvalidInputError` for anything but a non-empty list of strings."""
    if isinstance(paths, str) or not isinstance(paths, Sequence) or not paths or not all(map(_is_path, paths)):
        raise InvalidInputError(f"invalid index {paths!r}; name paths such as ['text'], or ['$'] for the whole value")
    return tuple(paths)


def _is_path(path: object) -> bool:
    return isinstance(path, str) and bool(path)


def text_of(value: Mapping[str, Any], paths: Sequence[str]) -> str | None:
    """Return a value's searchable text: the texts at these paths, one per line, or None if there are none.

    "$" selects the whole value, with each leaf preceded by its path unless there is only one leaf.
    """
    texts: list[str] = []
    for path in paths:
        if path == WHOLE:
            leaves = list(_leaves(value, ""))
            texts += [leaves[0][1]] if len(leaves) == 1 else [f"{name}: {text}" for name, text in leaves]
        else:
            texts += get_text_at_path(value, path)
    return "\n".join(text for text in texts if text.strip()) or None


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, path)
    elif value is not None and str(value).strip():
        yield path, str(value)
