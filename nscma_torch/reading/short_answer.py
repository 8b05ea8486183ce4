"""Build a short answer from the reader's output: yes or no, a date, a number, a list, or words from one passage.

If a question names a day or month, passages from or about that time are preferred. If it is about the present, the
newest of about equally good passages is preferred. Relative dates are resolved from the passage's date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nscma_torch.core.config import ReadingConfig
from nscma_torch.reading.question_intent import intent
from nscma_torch.reading.reader import ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.self_repair import repaired_span
from nscma_torch.reading.statement_times import with_event
from nscma_torch.text.calendar.dates import DateMention, find_dates
from nscma_torch.text.calendar.tense import leading
from nscma_torch.text.calendar.timestamps import format_day, format_days
from nscma_torch.text.sentences import split_sentences

# of a span's share in a passage of another time than the question names; of .01 to 1 on LoCoMo's even half
OTHER_TIMES = 0.01
_NUMBER = re.compile(r"\d")

Period = tuple[datetime, datetime]  # the first instant of a time, and the first one after it


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """`text` is the answer, taken from passage number `passage`; `why` explains how it was found."""

    text: str
    passage: int
    kind: str
    why: str


def said_by_others(read: ReadResult, passages: Sequence[InputPassage], speakers: Collection[str]) -> float:
    """Return the share of possible answers that aren't by `speakers`, in [0, 1]; 0 if `speakers` is empty."""
    shares = sum(span.share for span in read.spans)
    if not speakers or not shares:
        return 0.0
    return sum(span.share for span in read.spans if passages[span.passage].speaker not in speakers) / shares


def short_answer(
    question: str,
    read: ReadResult,
    passages: Sequence[InputPassage],
    settings: ReadingConfig,
    periods: Sequence[Period] = (),
) -> ShortAnswer | None:
    """Return the answer from passages, which are in the order they were said, or None if no passage contains one.

    `periods` are the times named in the question.
    """
    if not read.spans:
        return None
    if periods:
        read = _of_times(read, passages, periods)
    read = replace(read, spans=tuple(_repaired(span, passages[span.passage]) for span in read.spans))
    kind = read.kind
    best = read.spans[0]

    def answer(text: str, passage: int, why: str) -> ShortAnswer:
        return ShortAnswer(text, passage, kind, f"{why} in passage {passage + 1}")

    if kind in ("yes", "no"):
        return answer(kind, max(range(len(passages)), key=lambda i: read.evidence[i]), f"read as {kind}")
    members = _members(read, settings)
    if kind == "list":
        return answer(
            ", ".join(span.text for span in members), members[0].passage, f"{len(members)} members, the first"
        )
    if kind == "count" and len(members) > 1 and not _NUMBER.search(best.text):
        return answer(str(len(members)), best.passage, f"{len(members)} members counted, the likeliest")
    if kind == "when" and best.of_text:
        return answer(_dated(best, passages[best.passage]), best.passage, "read")
    newest = _newest(read, settings) if intent(question) == "current" else best
    if newest is not best:
        return answer(newest.text, newest.passage, f"read nearly as well as in passage {best.passage + 1}, and later,")
    return answer(best.text, best.passage, "read")


def _repaired(span: ReadSpan, passage: InputPassage) -> ReadSpan:
    """Return the span, or the correction that its speaker adds: "Huber" in "Weber. Scratch that, Huber"."""
    if not span.of_text or passage.said_at is None:
        return span
    at = repaired_span(passage.text, span.start, span.end, passage.said_at)
    return replace(span, text=passage.text[at.start : at.end], start=at.start, end=at.end)


def _of_times(read: ReadResult, passages: Sequence[InputPassage], periods: Sequence[Period]) -> ReadResult:
    """Reduce the shares of spans in passages that are neither from nor about one of the periods."""
    inside = [_is_of(passage, periods) for passage in passages]
    spans = [span if inside[span.passage] else replace(span, share=OTHER_TIMES * span.share) for span in read.spans]
    return replace(read, spans=tuple(sorted(spans, key=lambda span: -span.share)))


def _is_of(passage: InputPassage, periods: Sequence[Period]) -> bool:
    if passage.said_at is None:
        return False
    said = passage.said_at
    spoken_of = [mention.instants(said.tzinfo) for mention in find_dates(passage.text, said)]
    return any(
        first <= said < after or any(begin < after and first < end for begin, end in spoken_of)
        for first, after in periods
    )


def tells_of(passage: InputPassage, periods: Sequence[Period]) -> bool:
    """Return True if a passage mentions one of the periods, or was said during one without naming a time.

    Passages about another period or the future don't count, and neither do questions.
    """
    if passage.said_at is None or passage.text.rstrip().endswith(("?", "？")):
        return False
    said = passage.said_at
    times = [mention.instants(said.tzinfo) for mention in find_dates(passage.text, said)]
    if not times and leading(passage.text) <= 0:
        times = [(said, said + timedelta(microseconds=1))]
    return any(begin < after and first < end for begin, end in times for first, after in periods)


def tells_of_years_ago(text: str, value: str, said: datetime) -> bool:
    """Return True if the sentence containing a value is in the past tense and only mentions earlier years."""
    at = max(0, text.find(value))
    sentence = next((text[one.start : one.end] for one in split_sentences(text) if one.start <= at < one.end), text)
    times = find_dates(sentence, said)
    return bool(times) and leading(sentence) < 0 and all(one.last_day.year < said.year for one in times)


def _newest(read: ReadResult, settings: ReadingConfig) -> ReadSpan:
    """Return the best span, or a nearly equally good span from a later passage that gives a different value."""
    best = newest = read.spans[0]
    for span in read.spans[1:]:
        if span.share < settings.as_good * best.share:
            break
        if span.passage > newest.passage and span.text.casefold() != best.text.casefold():
            newest = span
    return newest


def _members(read: ReadResult, settings: ReadingConfig) -> list[ReadSpan]:
    """Return the members of a list: the distinct spans, in the order they were said."""
    best = read.spans[0].share
    kept: list[ReadSpan] = []
    for span in read.spans:
        if span.share < settings.member * best:
            break
        text = span.text.casefold()
        same = any(text in other.text.casefold() or other.text.casefold() in text for other in kept)
        if not same:
            kept.append(span)
    return sorted(kept, key=lambda span: (span.passage, span.start))


def _dated(span: ReadSpan, passage: InputPassage) -> str:
    """Return the dates that a span refers to; if it contains no date, return the span and the date it was said."""
    if passage.said_at is None:
        return span.text
    mention = _mention(passage.text, passage.said_at, span)
    if mention is None:
        words = with_event(passage.text, span.start, span.end)
        return f"{words} (said on {format_day(passage.said_at.date())})"
    return format_days(mention.first_day, mention.last_day)


def _mention(text: str, said: datetime, span: ReadSpan) -> DateMention | None:
    return next((m for m in find_dates(text, said) if m.start < span.end and span.start < m.end), None)
