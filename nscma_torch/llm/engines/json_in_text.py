"""Find JSON objects in a model's reply among other text: reasoning, code fences, sentences before or after."""

from __future__ import annotations

import json
import re

_REASONING = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_OPENED = re.compile(r'\{\s*["}]')
_DECODER = json.JSONDecoder(strict=False)
_MOST_TRIED = 64  # places where an object may begin; each failure costs time linear in the text


def json_objects(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each outermost JSON object in a reply, skipping its reasoning. Takes linear time.

    >>> text = '<think>{"a": 0}?</think> Here: {"a": 1}'
    >>> [text[start:end] for start, end in json_objects(text)]
    ['{"a": 1}']
    """
    place, stop = _answer(text)
    found = []
    for _ in range(_MOST_TRIED):
        opened = _OPENED.search(text, place, stop)
        if opened is None:
            break
        try:
            _, place = _DECODER.raw_decode(text, opened.start())
        except json.JSONDecodeError as error:
            place = max(opened.start() + 1, error.pos)  # the text up to there is not part of any outermost object
        except (ValueError, RecursionError):  # a number or a depth beyond Python's limits
            break
        else:
            found.append((opened.start(), place))
    return found


def _answer(text: str) -> tuple[int, int]:
    """Return the start of the reply after its reasoning, and the start of any reasoning that is never closed."""
    start, stop = 0, len(text)
    for tag in _REASONING.finditer(text):
        if tag[1]:
            start, stop = tag.end(), len(text)
        else:
            stop = min(stop, tag.start())
    return start, stop
