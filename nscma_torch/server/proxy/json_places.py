"""Locate the parts of a JSON text, so that one part can be changed while the rest stays byte-identical."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")


class JsonSpan(NamedTuple):
    """A value and its position: `text[start:end]`."""

    value: Any
    start: int
    end: int


def members(text: str, start: int) -> dict[str, JsonSpan]:
    """Return the values, by key, of the object that begins at `start`. For a duplicate key the last value is used, as
    in `json`.

    The text must be JSON.
    """
    found: dict[str, JsonSpan] = {}
    at = _after(text, start + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        found[key] = one = _value(text, _after(text, at) + 1)
        at = _next(text, one.end)
    return found


def elements(text: str, start: int) -> Iterator[JsonSpan]:
    """Yield the values of the array that begins at `start`. The text must be JSON."""
    at = _after(text, start + 1)
    while text[at] != "]":
        one = _value(text, at)
        yield one
        at = _next(text, one.end)


def _value(text: str, at: int) -> JsonSpan:
    start = _after(text, at)
    value, end = _DECODER.raw_decode(text, start)
    return JsonSpan(value, start, end)


def _next(text: str, at: int) -> int:
    """Return the position after the comma that follows a value, or the position of the closing bracket."""
    at = _after(text, at)
    return _after(text, at + 1) if text[at] == "," else at


def _after(text: str, at: int) -> int:
    """Return the position of the next character that isn't whitespace."""
    match = _BLANK.match(text, at)
    return at if match is None else match.end()
