"""Map British to American spellings, so that "favourite colour" and "favorite color" are the same topic."""

from __future__ import annotations

import re

_OUR = re.compile(
    r"\b((?:un|dis)?(?:arm|behavi|col|endeav|fav|flav|harb|hon|hum|lab|neighb|od|parl|rum|sav|splend|vap|vig))our"
)
_RE = re.compile(r"\b(cent|fib|lit|theat|met|kilomet|centimet|millimet)re(s?)\b")
_OTHERS = {"grey": "gray", "jewellery": "jewelry", "programme": "program", "tyre": "tire", "aluminium": "aluminum"}
_OTHER = re.compile(rf"\b({'|'.join(_OTHERS)})(s?)\b")


def american(text: str) -> str:
    """Return the text in lower case with American spelling."""
    text = _RE.sub(r"\1er\2", _OUR.sub(r"\1or", text.lower()))
    return _OTHER.sub(lambda match: _OTHERS[match[1]] + match[2], text)
