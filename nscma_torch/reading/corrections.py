"""Detect sentences that retract or correct earlier statements."""

from __future__ import annotations

import re

_CORRECTS = re.compile(
    r"\b(?:correction|i (?:misspoke|was wrong|was mistaken|meant|made a mistake|mixed up|got that wrong)|scratch "
    r"that|wait,? no|my mistake"
    r"|not .{1,30} (?:as|like) i said|(?:just|only) (?:kidding|joking)|mistyped|typo)\b"
    r"|更正|说错了|记错了|纠正|搞错了|口误",
    re.IGNORECASE,
)

_RETRACTS = re.compile(
    r"^\W*(?:(?:please|actually|and|now|ok(?:ay)?),?\s+)*(?:forget|ignore|disregard|unlearn)\s+(?:the\s+fact\s+)?that\s+[\w'’]+\s+\w"
    r"|^\W*(?:请|請)?(?:忘记|忘記|忘掉|忘了)(?!.*[吗嗎？?])",
    re.IGNORECASE,
)


def retracts(sentence: str) -> bool:
    """Return True if a sentence asks to forget the fact it states: "Forget that I live in Porto"."""
    return bool(_RETRACTS.search(sentence))


def corrects(sentence: str) -> bool:
    """Return True if a sentence marks an earlier statement as wrong."""
    return bool(_CORRECTS.search(sentence))


def without_correction(sentence: str) -> str:
    """Remove the words that mark a sentence as a correction."""
    return _CORRECTS.sub(" ", sentence)
