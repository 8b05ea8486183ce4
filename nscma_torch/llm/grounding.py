"""Check that a text supports a model's output: every content word must occur in the text, or name the speaker.

A model can be wrong, and a text can instruct a model what to write. In neither case may words enter the memory that
don't occur in the source.
"""

from __future__ import annotations

import re

from nscma_torch.text.capitalised import INSIDE
from nscma_torch.text.names import name_key
from nscma_torch.text.terms import terms

_ADDRESSED = re.compile(r"\b(?:you|your|yours|yourself|yourselves)\b|[你您]", re.IGNORECASE)
_NAMED = re.compile(rf"{INSIDE.pattern}|\d[\d.,:]*")
_DENIED = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|stopped|quit)\b|n['’]t\b|[不没沒无無别]",
    re.IGNORECASE,
)


def holds(words: str, *texts: str) -> bool:
    """Return True if every word in `words` occurs in one of the texts, in any inflection.

    Words that are too common to be indexed are ignored. If all words are, `words` itself must occur.
    """
    wanted = set(terms(words))
    if wanted:
        return wanted <= {term for text in texts for term in terms(text)}
    key = name_key(words)
    return bool(key) and any(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", name_key(text)) for text in texts)


def resolves(name: str, text: str, speaker: str, listener: str) -> bool:
    """Return True if a name consists of words from the text, from the speaker's name and, if the text says "you", from
    the addressee's name.
    """
    addressed = (listener,) if listener and _ADDRESSED.search(text) else ()
    return holds(name, text, speaker, *addressed)


def names_held(text: str, *texts: str) -> bool:
    """Return True if every name and number in a text occurs in one of the others. The first word of a sentence doesn't
    count as a name.
    """
    held = {term for other in texts for term in terms(other)}
    return all(term in held for found in _NAMED.finditer(text) for term in terms(found[0]))


def stands_for(note: str, sentence: str, text: str, speaker: str, listener: str) -> bool:
    """Return True if a note says nothing beyond the text of its sentence, and has the same negation."""
    same = bool(_DENIED.search(note)) == bool(_DENIED.search(sentence))
    return same and resolves(note, text, speaker, listener)
