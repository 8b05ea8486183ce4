"""Normalise text to composed letters (NFC) for reading, and map positions back to the original text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from nscma_torch.core.records import Statement, Unit

_MOST_MARKS = 30  # on one character, as in Unicode's stream-safe text: composing more takes quadratic time


def composed(unit: Unit) -> Unit:
    """Return the unit with each letter and its accents combined into one character."""
    text = unit.text if unit.text.isascii() else "".join(map(_composed, _clusters(unit.text)))
    return unit if text == unit.text else replace(unit, text=text)


def placed(statements: Sequence[Statement], written: str) -> tuple[Statement, ...]:
    """Convert the statements' positions from the composed text to the original text."""
    if written.isascii() or not statements:
        return tuple(statements)
    places = [0]  # of each composed character, where it begins as written
    for cluster in _clusters(written):
        places += [places[-1] + len(cluster)] * len(_composed(cluster))
    return tuple(replace(one, start=places[one.start], end=places[one.end]) for one in statements)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _clusters(text: str) -> list[str]:
    """Split a text into runs that are composed independently: a character with its combining marks."""
    starts = [0]
    for at in range(1, len(text)):
        if at - starts[-1] > _MOST_MARKS or not _joins(text[at - 1], text[at]):
            starts.append(at)
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _joins(before: str, character: str) -> bool:
    """Return True if a character combines with the one before it."""
    if character < "\u0300":
        return False
    return unicodedata.combining(character) > 0 or _composed(before + character) != before + character
