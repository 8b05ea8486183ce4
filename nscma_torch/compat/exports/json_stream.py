"""Read a large JSON file piece by piece: only the value that is being decoded is in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from nscma_torch.compat.exports.archives import ExportFile
from nscma_torch.core.errors import MalformedInputError, TextTooLargeError

MAX_VALUE = 1 << 26  # characters of one decoded value
_DEEPEST = 64  # levels of objects and lists that are walked
_CUT = 12  # characters: a longer rest of what was read is whole, so that an error in it is one
_BLANK = re.compile(r"[ \t\n\r]*")


class JsonStream:
    """A position in a JSON file.

    `members` and `elements` walk through an object or a list, and `value` decodes what is at the position. A value
    that the caller doesn't read is skipped.

    >>> from io import BytesIO
    >>> stream = JsonStream(ExportFile("a.json", 0, lambda: BytesIO(b'{"id": 7, "list": [1, 2]}')))
    >>> [(key, stream.value()) for key in stream.members()]
    [('id', 7), ('list', [1, 2])]
    """

    def __init__(self, part: ExportFile) -> None:
        self._name = part.name
        self._texts = part.texts()
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._lines = 0  # before `_text`
        self._ended = False
        self._unread = True  # a value at the position
        self._depth = 0

    def begins(self) -> str:
        """Return the first character of the value at the position: "{", "[", or that of a scalar."""
        found = self._peek()
        if not found:
            raise self._malformed("the file ends early")
        return found

    def value(self) -> Any:
        """Decode the value at the position. Raises `MalformedInputError` if it isn't JSON, `TextTooLargeError` if it
        is too large."""
        self.begins()
        while True:
            try:
                found, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                may_go_on = error.msg.startswith("Unterminated") or error.pos + _CUT > len(self._text)
                if not (may_go_on and self._more()):
                    raise self._malformed(error.msg, error.pos) from error
                continue
            except (RecursionError, ValueError) as error:
                raise self._malformed("nested too deeply, or a number too long") from error
            if end + _CUT > len(self._text) and self._more():  # a number may go on, as "1" does in "1e+5"
                continue
            self._at = end
            self._unread = False
            return found

    def members(self) -> Iterator[str]:
        """Yield the keys of the object at the position; the position is then that of the key's value."""
        for _ in self._inside("{", "}"):
            self._unread = True
            key = self.value()
            if not isinstance(key, str):
                raise self._malformed("a key is not a string")
            self._take(":")
            self._unread = True
            yield key
            self._skip_unread()

    def elements(self) -> Iterator[None]:
        """Walk through the list at the position, from one element to the next."""
        for _ in self._inside("[", "]"):
            self._unread = True
            yield
            self._skip_unread()

    def _inside(self, opening: str, closing: str) -> Iterator[None]:
        self._take(opening)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._malformed("nested too deeply")
        if self._peek() != closing:
            yield
            while self._peek() == ",":
                self._at += 1
                yield
        self._take(closing)
        self._depth -= 1
        self._unread = False

    def _skip_unread(self) -> None:
        if not self._unread:
            return
        opening = self.begins()
        if opening in "{[" and self._skip_whole():
            return
        if opening == "{":
            for _ in self.members():
                pass
        elif opening == "[":
            for _ in self.elements():
                pass
        else:
            self.value()

    def _skip_whole(self) -> bool:
        """Skip an object or a list if all of it was read; tell whether it was."""
        try:
            _, self._at = self._decoder.raw_decode(self._text, self._at)
        except (RecursionError, ValueError):  # not yet read, or not JSON, which shows on the way through it
            return False
        self._unread = False
        return True

    def _take(self, character: str) -> None:
        if self._peek() != character:
            raise self._malformed(f"expected {character!r}")
        self._at += 1

    def _peek(self) -> str:
        while True:
            match = _BLANK.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Read on, at least as much as is kept, so that a long value is tried a logarithmic number of times; tell
        whether there was more.
        """
        kept = self._text[self._at :]
        if len(kept) > MAX_VALUE:
            raise TextTooLargeError(f"{self._name}: a value has more than {MAX_VALUE:,} characters; split the export")
        new: list[str] = []
        size = 0
        while not self._ended and size <= len(kept):
            text = next(self._texts, None)
            self._ended = text is None
            new.append(text or "")
            size += len(new[-1])
        if size:
            self._lines += self._text.count("\n", 0, self._at)
            self._text, self._at = kept + "".join(new), 0
        return size > 0

    def _malformed(self, problem: str, at: int | None = None) -> MalformedInputError:
        line = self._lines + self._text.count("\n", 0, self._at if at is None else at) + 1
        return MalformedInputError(f"{self._name} is not JSON: {problem}", line=line)
