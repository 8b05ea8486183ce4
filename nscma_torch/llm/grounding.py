"""Check that a text supports a model's reading: every content word must occur in it, or name the speaker.

A model can be wrong, and a text can tell it what to write. Neither may put words into memory that its source lacks.
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
    """Return True if every word of `words` occurs in one of the texts, in any inflection.

    Words too common to be indexed are ignored; if there are no others, `words` itself must occur.
    """
    wanted = set(terms(words))
    if wanted:
        return wanted <= {term for text in texts for term in terms(text)}
    key = name_key(words)
    return bool(key) and any(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", name_key(text)) for text in texts)


def resolves(name: str, text: str, speaker: str, listener: str) -> bool:
    """Return True if a name consists of words of the text, the speaker's name, and the addressee's if the text says
    you.
    """
    addressed = (listener,) if listener and _ADDRESSED.search(text) else ()
    return holds(name, text, speaker, *addressed)


def names_held(text: str, *texts: str) -> bool:
    """Return True if every name and number of a text occurs in one of the others; a sentence's first word is not a
    name.
    """
    held = {term for other in texts for term in terms(other)}
    return all(term in held for found in _NAMED.finditer(text) for term in terms(found[0]))


def stands_for(note: str, sentence: str, text: str, speaker: str, listener: str) -> bool:
    """Return True if a note says no more than the text of a sentence does, with the same negation."""
    same = bool(_DENIED.search(note)) == bool(_DENIED.search(sentence))
    return same and resolves(note, text, speaker, listener)
