"""Find known names in a text: titles of documents, entities."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from nscma_torch.text.scripts import CJK_CHAR

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_LONGEST = 10  # words of a name
_LONGEST_UNSPACED = 12  # characters of a name written without spaces


def words_of(name: str) -> tuple[str, ...]:
    """Return a text's words in lower case for comparing names; characters for scripts without spaces."""
    return tuple(part.lower() for word in _WORD.findall(name) for part in (word if CJK_CHAR.search(word) else (word,)))


def mentions(text: str, names: Container[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield the known names in a text, in order, each once; names with case must begin with a capital or a digit."""
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
