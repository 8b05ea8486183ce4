"""Hold back the end of an answer from the client until its exchange is on disk.

The end of an event stream is the line that ends it (`data: [DONE]`) and everything after it; the rest is forwarded as
it arrives. Any other answer is held back completely, because a client can't use part of an answer.
"""

from __future__ import annotations


class EventsEnd:
    """Holds back the end of an event stream.

    Args:
        ends: beginnings of the line that begins the end.
    """

    def __init__(self, ends: tuple[bytes, ...]) -> None:
        self._ends = ends
        self._held = b""
        self._fresh = True  # whether what comes next begins a line
        self._done = False

    def feed(self, data: bytes) -> bytes:
        """Return everything except the end, or except a partial line that may become the end."""
        data = self._held + data
        start = 0 if self._done else self._begin(data)
        self._held = data[start:]
        if start:
            self._fresh = data[start - 1 : start] == b"\n"
        return data[:start]

    @property
    def held(self) -> bytes:
        """Return the bytes held back: whole lines, or no bytes if the stream has ended."""
        return self._held

    @property
    def between_lines(self) -> bool:
        """Return True if a line can be inserted before the bytes held back."""
        return self._fresh

    def _begin(self, data: bytes) -> int:
        """Return the offset where the end begins or could begin, or the length of `data` if the end doesn't begin in
        it.
        """
        start = 0 if self._fresh else data.find(b"\n") + 1 or len(data)
        while start < len(data):
            stop = data.find(b"\n", start)
            line = data[start:] if stop < 0 else data[start:stop]
            if line.startswith(self._ends):
                self._done = True
                return start
            if stop < 0:
                return start if any(end.startswith(line) for end in self._ends) else len(data)
            start = stop + 1
        return start


class WholeEnd:
    """Holds back a whole answer until it is complete, unless it exceeds a size limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = bytearray()
        self._open = False

    def feed(self, data: bytes) -> bytes:
        """Return nothing until `most` bytes have arrived, and everything after that."""
        self._kept += data
        if not self._open and len(self._kept) <= self._most:
            return b""
        self._open = True
        passed = bytes(self._kept)
        self._kept.clear()
        return passed

    @property
    def held(self) -> bytes:
        """Return the bytes received, or no bytes if there were too many."""
        return bytes(self._kept)
