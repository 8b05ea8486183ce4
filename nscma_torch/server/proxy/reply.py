"""Assemble the model's reply from the server's response while the response is forwarded."""

from __future__ import annotations

import json
from typing import Any

from nscma_torch.server.proxy.dialects import Dialect
from nscma_torch.text.surrogates import joined_pairs

_STREAM = "text/event-stream"


class ReplyAssembler:
    """Extracts the text from an answer; of several choices, the first.

    Args:
        dialect: of the answer.
        kind: the answer's content type: a stream of events, or JSON.
        most: maximum bytes to read; a longer answer yields no text.
    """

    def __init__(self, dialect: Dialect, kind: str, most: int) -> None:
        self._dialect = dialect
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
        said = self._dialect.whole(_parsed(bytes(self._rest)))
        return "" if said is None else joined_pairs(said.text)

    @property
    def unreadable(self) -> bool:
        """Return True if the answer isn't one of the dialect, or its content has no storable text."""
        if self._stream or self.too_large:
            return self._odd
        said = self._dialect.whole(_parsed(bytes(self._rest)))
        return said is None or said.odd

    def _event(self, line: bytes) -> None:
        name, _, data = line.partition(b":")
        if name == b"data":
            said = self._dialect.event(_parsed(data))
            self._odd = self._odd or said.odd
            self._said.append(said.text)


def is_stream(kind: str) -> bool:
    """Return True if a content type is an event stream."""
    return kind.partition(";")[0].strip().lower() == _STREAM


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):  # [DONE], and what was broken off
        return None
