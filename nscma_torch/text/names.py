"""Keys of entity names: two wordings with one key mean the same entity."""

from __future__ import annotations

import re
import unicodedata

_DETERMINER = re.compile(
    r"(?:the|a|an|some|this|that|these|those|its)\s+|(?:这个|那个|一个|这只|那只|这|那)(?=\S\S)", re.I
)
_EDGES = ' \t\n.,;:!?"“”‘()[]。，！？；：、「」'


def name_key(name: str) -> str:
    """The key of a name, which ignores case, determiners, quotes and spacing."""
    text = " ".join(unicodedata.normalize("NFKC", name).replace("’", "'").split()).strip(_EDGES)
    start = 0
    while (found := _DETERMINER.match(text, start)) and found.end() < len(text):
        start = found.end()
    return text[start:].strip().casefold()
