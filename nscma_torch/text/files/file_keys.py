"""Idempotency keys for messages from files, derived from their content and the file's path, so that a file can grow.

A key is `file:PLACE:CONTENT:N`: PLACE and CONTENT are digests of the file's path and the message, and N counts equal
messages in the file. Input without a path has the key `pipe:CHAIN:1`, where CHAIN is a digest of the message and all
messages before it: piped text that begins like earlier text continues it, and any other text is new.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

from nscma_torch.core.records import Message

_FILE, _PIPE = "file:", "pipe:"
_NO_PATH = "\0"  # no path begins with it
LINE = "line"  # metadata of a document's section: it moves when something is inserted above


def place_of(path: Path) -> str:
    """Return the prefix of all keys for a file."""
    path = path.resolve()
    return _prefix(str(path))


def place_of_name(name: str) -> str:
    """Return the prefix of all keys for a file of which only the name is known."""
    return _prefix(f"{_NO_PATH}{name}")


def _prefix(place: str) -> str:
    return f"{_FILE}{hashlib.sha256(place.encode(errors='surrogateescape')).hexdigest()[:16]}:"


def place_in(key: str | None) -> str | None:
    """Return the place in a key, or None if it isn't a file key."""
    return key[: key.index(":", len(_FILE)) + 1] if key is not None and key.startswith(_FILE) else None


def without_place(key: str) -> str:
    """Return a file key without the place, which differs between machines; other keys are returned unchanged."""
    place = place_in(key)
    return key if place is None else _FILE + key.removeprefix(place)


class FileKeys:
    """Assigns keys to the messages from one file, in order.

    Args:
        place: the result of `place_of`; None for input without a path.
    """

    def __init__(self, place: str | None) -> None:
        self._place = place
        self._seen: Counter[bytes] = Counter()
        self._chain = b""

    def key(self, message: Message) -> str:
        """Return the key for the next message."""
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
