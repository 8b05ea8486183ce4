"""Find editing terms ("I mean", "sorry", "scratch that") and compare the phrases before and after them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.sentences import Span

_STRONG = r"i\s+mean(?:t)?(?:\s+to\s+say)?|or\s+rather|(?:scratch|strike)\s+that|make\s+(?:that|it)|i\s+misspoke"
_LABEL = r"correction|typo|edit"
_FILLER = r"well|[oa]h|h+m+|u[hm]+|er+m?"
_WEAK = rf"(?:no\s+)?wait(?:\s+no)?|no|sorry|actually|rather|hold\s+on|my\s+(?:mistake|bad)|w?oops|{_FILLER}"
_TERM = re.compile(
    rf"(?<![\w'’*])(?:{_STRONG}|{_LABEL}|{_WEAK})(?:[\s,.:;!…—–-]{{1,4}}(?:{_STRONG}|{_LABEL}|{_WEAK}))*(?![\w'’])"
    r"|(?<!\S)\*(?=\w[\w'’ :.-]{0,40}\*?[.!]?[^\S\n]{0,2}(?:\n|\Z))",  # chat: a line's last word, "*Rob"
    re.IGNORECASE,
)
_FIRM = re.compile(rf"\b(?:{_STRONG}|{_LABEL})\b|\*", re.IGNORECASE)
_UNBOUND = re.compile(rf"(?:{_STRONG}|actually|\*)\Z", re.IGNORECASE)  # terms that need no punctuation after them
_RESTART = re.compile(r"\s+(?:I|it|he|she|they|we|my|that)\b")

LEAD = re.compile(  # words between an editing term and the repair: "it's", "on the"
    r"[\s,.:;!…—–-]{0,4}(?:(?:it|that|this|he|she|they|we|i)(?:['’](?:s|m|re)|\s+(?:is|was|am|are|were))\s+)?"
    r"(?:(?:at|by|for|from|in|is|of|on|since|to|with)\s+)?(?:(?:an?|the|my)\s+)?",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(r"\s{0,2}(?:[.,;:!?)…*—–，。；！？、）\n]|-\s|\Z)")
_ADJUNCT = re.compile(r"\s+(?:at|in|on|from|every|and|but)\b", re.IGNORECASE)
_WORDS = re.compile(r"[\w'’]+")
_OPENING = re.compile(r"[\s\"'“(]{0,4}")
PAUSES = " ,.;:!…—–-("
LONGEST_DATE = 40  # characters
REACH = 160  # characters between a value and the editing term, or between that and the repair


@dataclass(frozen=True, slots=True)
class Term:
    """An editing term in sentence number `sentence`.

    `begins` is True if it opens the sentence; `firm` is True if it always marks a correction.
    """

    start: int
    end: int
    firm: bool
    sentence: int
    begins: bool


def editing_terms(text: str, sentences: Sequence[Span]) -> Iterator[Term]:
    """Yield the editing terms of a text in order."""
    number = 0
    for match in _TERM.finditer(text):
        while number + 1 < len(sentences) and sentences[number + 1].start <= match.start():
            number += 1
        closed = re.match(r"\s*(?:[,.:;!…—–]|-\s|\Z)", text[match.end() : match.end() + 4])
        if closed or _UNBOUND.search(match.group()) or _RESTART.match(text, match.end()):
            begins = _OPENING.fullmatch(text, sentences[number].start, match.start()) is not None
            yield Term(match.start(), match.end(), _FIRM.search(match.group()) is not None, number, begins)


def date_end(text: str, said: datetime) -> int:
    """Return the end of the date at the beginning of a text, or 0 if there is none."""
    return next((mention.end for mention in find_dates(text, said) if mention.start == 0), 0)


def ends_alike(text: str, end: int, old_end: int, *, timed: bool = False) -> bool:
    """Return True if a phrase is complete, or continues with the word that follows the value it repairs.

    A `timed` phrase (a date or a measure) may have an addition: "Tuesday at ten".
    """
    if _BOUNDARY.match(text, end) or (timed and _ADJUNCT.match(text, end)):
        return True
    if text[end : end + 1].isspace():
        word, old = _WORDS.match(text, end + 1), _WORDS.match(text, old_end + 1)
        return word is not None and old is not None and word.group().lower() == old.group().lower()
    return text[end : end + 1] == text[old_end : old_end + 1] != ""
