"""Bound the number of values in a JSON body, counted from its bytes before parsing.

A parsed value and an error about it take a thousand times as much memory as the two bytes `1,`. Counting takes time
linear in the bytes, stops at the bound, and needs no memory.
"""

from __future__ import annotations

import re

MOST_VALUES = 50_000
DEEPEST = 200  # arrays and objects inside each other
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]|,', re.DOTALL)


def exceeded(body: bytes, most: int = MOST_VALUES, deepest: int = DEEPEST) -> str | None:
    """Return a description of the bound that a body exceeds, or None. Invalid JSON is left for the parser to report."""
    openings = body.count(b"[") + body.count(b"{")
    if openings <= deepest and openings + body.count(b",") <= most:
        return None
    values = depth = strings = 0
    for token in _TOKEN.finditer(body):
        kind = body[token.start()]
        if kind in b"[{":
            depth += 1
            values += 1
        elif kind in b"]}":
            depth -= 1
        elif kind in b",":
            values += 1
        else:
            strings += 1
        if depth > deepest:
            return f"arrays and objects are nested more than {deepest} deep"
        if values > most or strings > 2 * most:
            return f"it holds more than {most:,} values"
    return None
