"""Whether an answer in a few words is right, outdated, or should not have been given, by the wordings of a gold answer.

The first line of an answer is its short text; evidence may be quoted below it. A wording is looked for as whole words,
without regard to case and kind of apostrophe; a number is not found inside a longer number, date or time ("6" in
"6.50", "14" in "2026-01-14").
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

LONGEST = 15  # words of a short text that counts as short
_FIRST_WORD = re.compile(r"\W*(\w+)")


@dataclass(frozen=True, slots=True)
class Gold:
    """What answers a question.

    Attributes:
        answers: any of them is right; each is its members, all of which are needed, and each member is its accepted
            wordings. Empty where the conversation does not tell.
        stale: outdated or confusable values.
        yes_no: whether "yes" and "no" are looked for as the first word alone.
    """

    answers: tuple[tuple[tuple[str, ...], ...], ...] = ()
    stale: tuple[str, ...] = ()
    yes_no: bool = False

    def __str__(self) -> str:
        said = (" + ".join(" / ".join(wordings) for wordings in members) for members in self.answers)
        return " or ".join(said) or "-"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an answer did; all but `invented` are False for an unanswerable question.

    Attributes:
        short: a right answer in at most `LONGEST` words.
        shown: a right answer at any length, quoted evidence included.
        stale: a stale value, and no right answer, in at most `LONGEST` words.
        silent: abstained from an answerable question.
        invented: did not abstain from an unanswerable one.
    """

    answerable: bool
    short: bool
    shown: bool
    stale: bool
    silent: bool
    invented: bool

    def __str__(self) -> str:
        for name in ("short", "stale", "silent", "invented", "shown"):
            if getattr(self, name):
                return name
        return "wrong" if self.answerable else "abstained"


def judge(gold: Gold, text: str, *, abstained: bool) -> Verdict:
    """The verdict on the whole text of an answer. An abstention is never short or stale, but may show the answer."""
    if not gold.answers:
        return Verdict(False, False, False, False, False, invented=not abstained)
    first = short_text(text)
    given = not abstained and len(first.split()) <= LONGEST
    right = _right(gold, first)
    stale = any(_names(first, value, yes_no=gold.yes_no) for value in gold.stale)
    return Verdict(True, given and right, _right(gold, text), given and stale and not right, abstained, False)


def short_text(text: str) -> str:
    """The text up to its first line break."""
    lines = text.strip().splitlines()
    return lines[0].rstrip() if lines else ""


def says(text: str, wording: str) -> bool:
    """Whether the wording stands in the text as whole words."""
    plain = _plain(wording)
    if not plain:
        return False
    before = r"(?<!\w)(?<!\d[.,:/-])" if plain[0].isdigit() else r"(?<!\w)"
    after = r"(?![.,:/-]?\d)(?!\w)" if plain[-1].isdigit() else r"(?!\w)"
    return re.search(before + re.escape(plain) + after, _plain(text)) is not None


def _right(gold: Gold, text: str) -> bool:
    return any(
        all(any(_names(text, wording, yes_no=gold.yes_no) for wording in wordings) for wordings in members)
        for members in gold.answers
    )


def _names(text: str, wording: str, *, yes_no: bool) -> bool:
    if yes_no and _plain(wording) in ("yes", "no"):
        first = _FIRST_WORD.match(_plain(text))
        return first is not None and first[1] == _plain(wording)
    return says(text, wording)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("‘", "'")
    return " ".join(folded.split())
