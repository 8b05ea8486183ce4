"""Assemble the model's reply from the server's response while the response is forwarded."""

from __future__ import annotations

import json
from typing import Any

from nscma_torch.text.surrogates import joined_pairs

_STREAM = "text/event-stream"
_REASONING = ("thinking", "reasoning")  # types of parts


class ReplyAssembler:
    """Extracts the text from an answer's first choice.

    Args:
        kind: the answer's content type: a stream of events, or JSON.
        most: maximum bytes to read; a longer answer yields no text.
    """

    def __init__(self, kind: str, most: int) -> None:
        self._stream = is_stream(kind)
        self._most = most
        self._size = 0
        self._rest = bytearray()
        self._said: list[str] = []
        self._odd = False

    def feed(self, data: bytes) -> None:
        """Process the next bytes of the answer."""
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
        """Return True if the reply exceeds the size limit."""
        return self._size > self._most

    @property
    def text(self) -> str:
        """Return the text so far; it is empty if there is none, or if a JSON response is incomplete."""
        if self.too_large:
            return ""
        if self._stream:
            return joined_pairs("".join(self._said))  # a server may cut a pair in two
        return joined_pairs(_text(_first(_parsed(bytes(self._rest))).get("message"), "\n"))

    @property
    def unreadable(self) -> bool:
        """Return True if the answer isn't a chat completion, or its content has no storable text."""
        if self._stream or self.too_large:
            return self._odd
        choice = _first(_parsed(bytes(self._rest)))
        return not choice or _is_odd(choice.get("message"))

    def _event(self, line: bytes) -> None:
        name, _, data = line.partition(b":")
        if name == b"data":
            delta = _first(_parsed(data)).get("delta")
            self._odd = self._odd or _is_odd(delta)
            self._said.append(_text(delta))


def is_stream(kind: str) -> bool:
    """Return True if a content type is an event stream."""
    return kind.partition(";")[0].strip().lower() == _STREAM


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):  # [DONE], and what was broken off
        return None


def _first(answer: Any) -> dict[str, Any]:
    """Return the first choice in an answer or in a piece of an answer."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    listed = choices if isinstance(choices, list) else ()
    return next((one for one in listed if isinstance(one, dict) and one.get("index", 0) == 0), {})


def _content(message: Any) -> Any:
    """Return the content of a message or of a piece of a message; if it has none, return its refusal."""
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    return message.get("refusal") if content is None else content


def _text(message: Any, between: str = "") -> str:
    """Return the text of a message, without reasoning. If the content is a list of parts, their texts are joined by
    `between`.
    """
    parts = [part for part in _parts(message) if not _is_reasoning(part)]
    texts = (part.get("text", part.get("refusal")) if isinstance(part, dict) else part for part in parts)
    return between.join(text for text in texts if isinstance(text, str))


def _is_odd(message: Any) -> bool:
    """Return True if a message has content without text."""
    parts = [part for part in _parts(message) if part and not _is_reasoning(part)]
    return bool(parts) and not _text(message)


def _parts(message: Any) -> list[Any]:
    content = _content(message)
    return content if isinstance(content, list) else [content]


def _is_reasoning(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _REASONING
