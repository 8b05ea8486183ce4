"""Find known names in a text, such as document titles and entities."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from nscma_torch.text.scripts import CJK_CHAR

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_LONGEST = 10  # words of a name
_LONGEST_UNSPACED = 12  # characters of a name written without spaces


def words_of(name: str) -> tuple[str, ...]:
    """Split a text into lower-case words for comparing names; in scripts without spaces, into characters."""
    return tuple(part.lower() for word in _WORD.findall(name) for part in (word if CJK_CHAR.search(word) else (word,)))


def mentions(text: str, names: Container[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield each known name in a text once, in order; in scripts with letter case, names must begin with a capital or a
    digit."""
    words = [
        (part.lower(), not part[:1].islower())
        for word in _WORD.findall(text)
        for part in (word if CJK_CHAR.search(word) else (word,))
    ]
    seen: set[tuple[str, ...]] = set()
    plain = [word for word, _ in words]
    longest = _LONGEST_UNSPACED if CJK_CHAR.search(text) else _LONGEST
    for start, (_, may_begin) in enumerate(words):
        if not may_begin:
            continue
        for end in range(start + 1, min(start + longest, len(words)) + 1):
            name = tuple(plain[start:end])
            if name not in seen and name in names:
                seen.add(name)
                yield name
