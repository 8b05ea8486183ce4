"""Idempotency keys of messages that come from files: by their content and the file's place, so that a file can grow.

A key is `file:PLACE:CONTENT:N`: digests of the file's path and of the message, and which of equal messages of the file
it is. Input without a path has `pipe:CHAIN:1`, where CHAIN is a digest of the message and of all before it: piped text
that begins like earlier text continues it, and everything else is new.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

from nscma_torch.core.records import Message

_FILE, _PIPE = "file:", "pipe:"
LINE = "line"  # metadata of a document's section: it moves when something is inserted above


def place_of(path: Path) -> str:
    """The beginning of all keys of a file."""
    path = path.resolve()
    return f"{_FILE}{hashlib.sha256(str(path).encode(errors='surrogateescape')).hexdigest()[:16]}:"


def place_in(key: str | None) -> str | None:
    """The place in a key; None if it is no key of a file."""
    return key[: key.index(":", len(_FILE)) + 1] if key is not None and key.startswith(_FILE) else None


def without_place(key: str) -> str:
    """A key of a file without the place, which differs from machine to machine; any other key as it is."""
    place = place_in(key)
    return key if place is None else _FILE + key.removeprefix(place)


class FileKeys:
    """Gives the messages of one file their keys, in order.

    Args:
        place: as of `place_of`; None for input without a path.
    """

    def __init__(self, place: str | None) -> None:
        self._place = place
        self._seen: Counter[bytes] = Counter()
        self._chain = b""

    def key(self, message: Message) -> str:
        """The key of the next message."""
        content = _digest(message)
        if self._place is None:
            self._chain = hashlib.sha256(self._chain + content).digest()[:16]
            return f"{_PIPE}{self._chain.hex()}:1"
        self._seen[content] += 1
        return f"{self._place}{content.hex()}:{self._seen[content]}"


def _digest(message: Message) -> bytes:
    metadata = {key: value for key, value in message.metadata.items() if key != LINE or message.role != "document"}
    said = [message.role, message.name, message.session, message.content]
    said.append(None if message.timestamp is None else message.timestamp.isoformat())
    text = json.dumps([said, metadata], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).digest()[:16]
