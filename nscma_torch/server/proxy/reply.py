"""What the model says, put together from its server's answer while that is passed on."""

from __future__ import annotations

import json
from typing import Any

_STREAM = "text/event-stream"


class Reply:
    """The text of the first choice of an answer.

    Args:
        kind: the answer's content type: a stream of events, or JSON.
        most: bytes that are read; of a longer answer there is no text.
    """

    def __init__(self, kind: str, most: int) -> None:
        self._stream = is_stream(kind)
        self._most = most
        self._size = 0
        self._rest = bytearray()
        self._said: list[str] = []

    def feed(self, data: bytes) -> None:
        """The next bytes of the answer."""
        self._size += len(data)
        if self.too_large:
            self._rest.clear()
            return
        self._rest += data
        if self._stream and b"\n" in data:
            *lines, rest = self._rest.split(b"\n")
            self._rest = bytearray(rest)
            for line in lines:
                self._event(bytes(line))

    @property
    def too_large(self) -> bool:
        """Whether there is more than is read."""
        return self._size > self._most

    @property
    def text(self) -> str:
        """What was said so far; empty where there is no text, or an answer in JSON is not whole."""
        if self.too_large:
            return ""
        if self._stream:
            return "".join(self._said)
        return _text(_first(_parsed(bytes(self._rest))).get("message"))

    def _event(self, line: bytes) -> None:
        name, _, data = line.partition(b":")
        if name == b"data":
            self._said.append(_text(_first(_parsed(data)).get("delta")))


def is_stream(kind: str) -> bool:
    """Whether a content type is that of a stream of events."""
    return kind.partition(";")[0].strip().lower() == _STREAM


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):  # [DONE], and what was broken off
        return None


def _first(answer: Any) -> dict[str, Any]:
    """The first choice of an answer, or of a piece of one."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    listed = choices if isinstance(choices, list) else ()
    return next((one for one in listed if isinstance(one, dict) and one.get("index", 0) == 0), {})


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""
