"""By which of some nouns a text calls a name: Dan is a brother in "my brother Dan" and in "Dan, my little brother"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nscma_torch.text.nouns import plural
from nscma_torch.text.terms import script

_NAME = r"[A-ZÀ-ÖØ-Þ][\w.'’-]*"
_BETWEEN = re.compile(  # the noun, this, the name
    rf"(?:'s|’s|')?\s*(?:[,:(]|\bname\b|\b(?:is|was|are|were|called|named|and|a|an|the|Dr|Mr|Mrs|Ms)\b\.?|{_NAME},?|\s)*"
)
_BEFORE = re.compile(  # the name, this, the noun
    r"\s*(?:[,(]|\b(?:is|was|are|were|my|our|his|her|their|your|the|a|an|one|of|both|also|younger|older|elder|little|big"
    r"|new|only|late|first|second|baby|youngest|eldest|oldest|dear|beloved|twin)\b|[\w.-]+['’]s\b|\s)*"
)
_HAN_BETWEEN = re.compile(r"(?:的|，|名字|名|叫|是|她|他)*")
_HAN_BEFORE = re.compile(r"(?:，|是|我|你|他|她|们|的|家|亲|大|小|二)*")
_REACH = 48  # characters between them


def called(name: str, text: str, nouns: Iterable[str]) -> str:
    """The noun, in the singular and as given, that stands nearest to the name and calls it so; "" where none does.

    Args:
        name: a person's or a thing's, at any place of the text.
        text: what was said.
        nouns: in the singular; those of several words before those of one.
    """
    singulars = {form: noun for noun in nouns for form in (noun.casefold(), plural(noun.casefold()))}
    if not singulars or not name:
        return ""
    by_length = sorted(map(re.escape, singulars), key=len, reverse=True)
    found = re.compile(rf"(?<![\w-])(?:{'|'.join(by_length)})(?![\w-])", re.IGNORECASE)
    if script(text) == "cjk":
        found = re.compile("|".join(by_length), re.IGNORECASE)
    best: tuple[int, str] | None = None
    for at in re.finditer(
        rf"(?<!\w){re.escape(name)}(?!\w)" if name.isascii() else re.escape(name), text, re.IGNORECASE
    ):
        begin = max(at.start() - _REACH, 0)
        for match in found.finditer(text, begin, at.end() + _REACH):
            noun = singulars[match[0].casefold()]
            if match.start() >= at.start() and match.end() <= at.end():
                return noun  # a part of the name
            if match.end() <= at.start():
                gap, allowed = text[match.end() : at.start()], (_BETWEEN, _HAN_BETWEEN)
            elif match.start() >= at.end():
                gap, allowed = text[at.end() : match.start()], (_BEFORE, _HAN_BEFORE)
            else:
                continue
            if any(pattern.fullmatch(gap) for pattern in allowed) and (best is None or len(gap) < best[0]):
                best = len(gap), noun
    return best[1] if best else ""
