"""A short answer from what the reader read: yes or no, a day, a number, a list, or the words of one passage.

Order of trust: of passages that answer about equally well, the newest is taken (currency), unless the question asks how
something was before; dates are computed from the day on which they were said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from nscma_torch.config import Reading
from nscma_torch.reading.reader import ReadResult, ReadSpan
from nscma_torch.reading.reader_input import Passage
from nscma_torch.text.dates import DateMention, find_dates
from nscma_torch.text.timestamps import format_days

PAST = 0.5  # probability from which a question is taken to ask of the past
_NUMBER = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """`text` answers by passage number `passage`; `confidence` is the probability that a passage answers, in [0, 1]."""

    text: str
    passage: int
    confidence: float
    kind: str
    why: str


def short_answer(read: ReadResult, passages: Sequence[Passage], settings: Reading) -> ShortAnswer | None:
    """The answer, or None where no passage holds one."""
    if not read.spans:
        return None
    surest = max(range(len(passages)), key=lambda i: read.answerable[i])
    confidence = read.answerable[surest]
    kind = read.kind
    if kind in ("yes", "no"):
        return ShortAnswer(kind, surest, confidence, kind, f"read as {kind} in passage {surest + 1}")
    if kind == "list":
        members = _members(read, settings)
        text = ", ".join(span.text for span in members)
        return ShortAnswer(text, members[0].passage, confidence, kind, f"{len(members)} members")
    span, why = _current(read, passages, settings)
    if kind == "count" and not _NUMBER.search(span.text):
        members = _members(read, settings)
        if len(members) > 1:
            return ShortAnswer(str(len(members)), span.passage, confidence, kind, f"{len(members)} members counted")
    text = span.text
    if kind == "when" and span.of_text:
        text = _dated(span, passages[span.passage])
    return ShortAnswer(text, span.passage, confidence, kind, why)


def _current(read: ReadResult, passages: Sequence[Passage], settings: Reading) -> tuple[ReadSpan, str]:
    """The best span, or one of a newer passage that is nearly as good and says something else."""
    best = read.spans[0]
    if read.past >= PAST:
        return best, f"read in passage {best.passage + 1}, of what was before"
    chosen = best
    for span in read.spans[1:]:
        if span.share < settings.as_good * best.share:
            break
        if _said(passages, span) > _said(passages, chosen) and span.text.casefold() != best.text.casefold():
            chosen = span
    if chosen is best:
        return best, f"read in passage {best.passage + 1}"
    return chosen, f"passage {chosen.passage + 1} is newer than {best.passage + 1}, and answers nearly as well"


def _said(passages: Sequence[Passage], span: ReadSpan) -> float:
    at = passages[span.passage].said_at
    return at.timestamp() if at is not None else 0.0


def _members(read: ReadResult, settings: Reading) -> list[ReadSpan]:
    """The members of a list: spans that do not overlap, each text once, in the order in which they were said."""
    best = read.spans[0].share
    kept: list[ReadSpan] = []
    for span in read.spans:
        if span.share < settings.member * best:
            break
        text = span.text.casefold()
        same = any(text in other.text.casefold() or other.text.casefold() in text for other in kept)
        if not same and not any(_overlap(span, other) for other in kept):
            kept.append(span)
    return sorted(kept, key=lambda span: (span.passage, span.start))


def _overlap(a: ReadSpan, b: ReadSpan) -> bool:
    return a.passage == b.passage and a.of_text == b.of_text and a.start < b.end and b.start < a.end


def _dated(span: ReadSpan, passage: Passage) -> str:
    """The days that a span means, and how they were said; the span alone where it means none."""
    if passage.said_at is None:
        return span.text
    mention = _mention(passage.text, passage.said_at, span)
    if mention is None:
        return span.text
    return f"{format_days(mention.first_day, mention.last_day)} ({span.text})"


def _mention(text: str, said: datetime, span: ReadSpan) -> DateMention | None:
    return next((m for m in find_dates(text, said) if m.start < span.end and span.start < m.end), None)
