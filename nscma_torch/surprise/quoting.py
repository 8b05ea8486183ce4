"""Extract quoted statements from a message, without quotation marks."""

from __future__ import annotations

import re

_SPEAKER = r"(?:i|you|we|s?he|they|the user|user|assistant|[A-Z][\w'’-]+)"
_SAID = r"(?:said|told|mentioned|wrote|noted|say|tell|mention|put it)"
_INTRODUCTION = re.compile(
    rf"(?:(?:as|like) {_SPEAKER} (?:\w+ )?{_SAID}\b[^,:;.]{{0,24}}[,:]\s+"  # As I said before, ...
    rf"|{_SPEAKER} (?:\w+ )?{_SAID}\b[^,:;.]{{0,24}}:\s*"  # You said to me: ...
    r"|(?:user|assistant):\s+)",
    re.I,
)
_MARKS = re.compile(r"\s*(?:(?:[-*•–]|\d{1,3}[.)]|\[[^\]\n]{0,40}\])\s+|>+\s*)*+")
_OPENING, _CLOSING = "\"'“”«„‘", "\"'“”»’"
_HEADING = 8  # most words of a line that ends in a colon and only announces a list


def unquoted(text: str) -> list[str]:
    """Return the statements that a message quotes, or its lines if it quotes none. Quotation marks, list marks,
    introductions ("As I said,") and headings ("What I remember:") are removed.
    """
    found = []
    for line in text.splitlines():
        plain = _MARKS.sub("", line, count=1).strip()
        introduction = _INTRODUCTION.match(plain)
        plain = plain[introduction.end() :] if introduction else plain
        if len(plain) > 1 and plain[0] in _OPENING and plain[-1] in _CLOSING:
            plain = plain[1:-1].strip()
        if plain and not (plain.endswith(":") and len(plain.split()) <= _HEADING):
            found.append(plain)
    return found
