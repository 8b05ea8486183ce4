"""Score a short answer against the accepted wordings of a reference answer: right, stale, silent or invented.

Only `Answer.short` is scored as the answer; the evidence quoted below it is counted separately. A wording must occur as
whole words; case and the kind of apostrophe are ignored. A number doesn't match inside a longer number, date or time
("6" in "6.50", "14" in "2026-01-14"). In scripts without spaces, each character counts as a word.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from nscma_torch.core.records import Answer
from nscma_torch.text.scripts import UNSPACED

LONGEST = 15  # words of a short text that counts as short
_FIRST_WORD = re.compile(r"\W*(\w+)")
_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_LETTER = rf"[^\W{UNSPACED}]"  # of a script with spaces between words


@dataclass(frozen=True, slots=True)
class Gold:
    """Accepted answers to a question.

    Attributes:
        answers: alternatives, each of which is right; an alternative is a list of required parts, and each part a list
            of accepted wordings. Empty if the conversation doesn't answer the question.
        stale: outdated values, or values that are easily confused with the answer.
        yes_no: whether to match "yes" and "no" only as the first word.
    """

    answers: tuple[tuple[tuple[str, ...], ...], ...] = ()
    stale: tuple[str, ...] = ()
    yes_no: bool = False

    def __str__(self) -> str:
        said = (" + ".join(" / ".join(wordings) for wordings in members) for members in self.answers)
        return " or ".join(said) or "-"


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """The outcome for one question; for an unanswerable question, all fields except `invented` are False.

    Attributes:
        short: the answer is right and has at most `LONGEST` words.
        evidence_shown: a right answer occurs anywhere in the text, including quoted evidence, at any length. This
            measures the evidence, not the answer.
        stale: the answer has at most `LONGEST` words and contains a stale value but no right answer.
        silent: the memory abstained although the question is answerable.
        invented: the memory didn't abstain although the question is unanswerable.
    """

    answerable: bool
    short: bool
    evidence_shown: bool
    stale: bool
    silent: bool
    invented: bool

    @property
    def right(self) -> bool:
        """Return True for a right short answer, or for an abstention if the question is unanswerable."""
        return self.short if self.answerable else not self.invented

    def __str__(self) -> str:
        for name in ("short", "stale", "silent", "invented", "evidence_shown"):
            if getattr(self, name):
                return name.replace("_", " ")
        return "wrong" if self.answerable else "abstained"


def judge(gold: Gold, answer: Answer) -> AnswerVerdict:
    """Score an answer. If it abstains, it is never short or stale, but its text may show the evidence."""
    if not gold.answers:
        return AnswerVerdict(False, False, False, False, False, invented=not answer.abstained)
    short = answer.short
    given = not answer.abstained and len(_WORD.findall(short)) <= LONGEST
    right = _right(gold, short)
    stale = any(_names(short, value, yes_no=gold.yes_no) for value in gold.stale)
    shown = _right(gold, answer.text)
    return AnswerVerdict(True, given and right, shown, given and stale and not right, answer.abstained, False)


def says(text: str, wording: str) -> bool:
    """Return True if the text contains the wording as whole words."""
    plain = _plain(wording)
    if not plain:
        return False
    before, after = rf"(?<!{_LETTER})", rf"(?!{_LETTER})"
    if plain[0].isdigit():
        before += r"(?<!\d[.,:/-])"
    elif re.match(f"[{UNSPACED}]", plain):
        before = ""
    if plain[-1].isdigit():
        after = r"(?![.,:/-]?\d)" + after
    elif re.match(f"[{UNSPACED}]", plain[-1]):
        after = ""
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
