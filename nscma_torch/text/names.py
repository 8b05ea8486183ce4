"""Keys for entity names: two names with the same key mean the same entity."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_DETERMINER = re.compile(
    r"(?:the|a|an|some|this|that|these|those|its)\s+|(?:这个|那个|一个|这只|那只|这|那)(?=\S\S)", re.I
)
_LONGEST = 400  # characters of a key, which an index of PostgreSQL must hold beside others: 2,704 bytes in all
_EDGES = ' \t\n.,;:!?"“”‘()[]。，！？；：、「」'


def name_key(name: str) -> str:
    """Return the key for a name, which ignores case, determiners, quotes and spacing. The key for a long name ends with
    a hash."""
    text = " ".join(unicodedata.normalize("NFKC", name).replace("’", "'").split()).strip(_EDGES)
    start = 0
    while (found := _DETERMINER.match(text, start)) and found.end() < len(text):
        start = found.end()
    key = text[start:].strip().casefold()
    if len(key) <= _LONGEST:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{key[: _LONGEST - len(digest)]}{digest}"
