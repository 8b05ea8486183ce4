"""Derive the start and end of a statement's validity from the dates in its sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import NamedTuple

from nscma_torch.core.records import UNKNOWN_BEGIN
from nscma_torch.reading.editing_terms import LEAD, LONGEST_DATE, PAUSES, REACH, editing_terms, ends_alike
from nscma_torch.text.calendar.dates import DateMention, find_dates
from nscma_torch.text.calendar.tense import leading
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import Span

_MOST_TERMS = 20  # of a sentence; each costs a copy of it
_NEWS = timedelta(days=31)  # a change of the last weeks holds when it is told, whatever was said since
_UNTIL = re.compile(r"\b(?:until|till|by|before|from\s+\S+\s+(?:to|through|-|–))\s+(?:the\s+)?$", re.IGNORECASE)
_SINCE = re.compile(r"(?:\b(?:since|from|as of|starting(?: in| on)?)\s+|[从從自])$", re.IGNORECASE)
_HAN_SINCE = re.compile(r"以来|以來|起|开始|開始|至今")
_HAN_NOW = re.compile(r"现在|現在|目前|一直|至今")
_LIFE = r"(?:child|kid|boy|girl|teen(?:ager)?|baby|toddler|student|apprentice|young\s+\w+)"
_AGE = r"(?:childhood|youth|teens|(?:early|mid|late)?[\s-]*(?:twen|thir|for|fif|six|seven|eigh|nine)ties|\w+\s+days)"
_LONG_AGO = re.compile(
    rf"\b(?:(?:long|ages|years|decades|centuries)\s+(?:ago|back)|back\s+(?:then|when|in\s+the\s+day)|in\s+those\s+days"
    rf"|(?:when|while)\s+(?:i|you|he|she|it|we|they|my\s+\w+)\s+(?:was|were|lived|studied|went\s+to)"
    rf"|as\s+an?\s+(?:\w+\s+)?{_LIFE}|(?:in|during)\s+(?:my|your|his|her|our|their)\s+{_AGE}"
    r"|aged?\s+(?:of\s+)?\d+|used\s+to)\b|小时候|小時候|年轻时|年輕時|从前|從前|以前|当年|當年|那时|那時|的时候|的時候",
    re.IGNORECASE,
)
_TIME_NOUN = r"""(?:
    spring|summer|autumn|winter|season|semester|term|quarter|decade|century|holidays?|vacation|easter|christmas|ramadan
    |hanukkah|diwali|eid|passover|carnival|lockdown|pandemic|war|crisis|millennium)"""
_CLAUSE = r"""(?:
    of|that|when|(?:in|on)\s+which|i|you|he|she|it|we|they|my|your|his|her|its|our|their|the|a|an|(?-i:[A-Z])\w+)"""
_OF_EVENT = rf"""
    \bthe\s+(?:very\s+|same\s+)?(?:day|morning|afternoon|evening|night|week|weekend|month|year|{_TIME_NOUN})\s+{_CLAUSE}\b"""
_EVENT = re.compile(rf"(?:{_OF_EVENT})[^.,;!?\n]{{0,80}}", re.IGNORECASE | re.VERBOSE)
_VAGUE = re.compile(
    rf"""\b(?:when|while|after|before|ago)\b(?!\s+(?:all|long)\b)
    |(?<![\w.,])(?:1[89]|20)\d\d\b(?![.,]\d|\s+[a-z]+s\b)|(?<!\w)['’‘]\d\d\b|\b\d{{1,2}}/\d{{1,4}}\b
    |\b(?:in|at|during|over|around|for|by|since|last|past|previous|that|one)\s+(?:(?:the|that|last)\s+)?(?:\w+\s+)?{_TIME_NOUN}\b
    |{_OF_EVENT}
    |\b(?:turn|dawn|outbreak|height|eve|start|beginning|middle|end)\s+of\s+(?:the|that|my|our)\s+(?:\w+\s+)?{_TIME_NOUN}\b""",
    re.IGNORECASE | re.VERBOSE,
)
_STILL = re.compile(
    r"\bsince\s+(?!then\b)\w|\bfor\s+(?:(?:about|around|over|almost|nearly|more\s+than|the\s+(?:last|past))\s+)?"
    r"(?:(?:\d+|\w+|a\s+few|so\s+many)\s+)?(?:days|weeks|months|years|decades|ages|a\s+(?:while|year|month|week))\b",
    re.IGNORECASE,
)


class StatementTimes(NamedTuple):
    """Start and end of a statement's validity; for `begun_by`, see `Statement`."""

    begins: datetime | None = None
    ends: datetime | None = None
    begun_by: datetime | None = None


def times_of(text: str, within: Sequence[str], said: datetime, *, past: bool) -> StatementTimes:
    """Return a statement's times, from the dates in its sentence that aren't part of its objects.

    Args:
        text: the sentence.
        within: phrases containing dates that don't date the statement.
        said: when the sentence was said; its time zone determines the day.
        past: True if the statement had already ended when it was said.
    """
    text, within = _repaired(text, within, said)
    begins = ends = begun_by = None
    for mention in find_dates(text, said):
        if any(text[mention.start : mention.end] in phrase for phrase in within):
            continue
        if mention.first_day.year == date.min.year:  # in UTC it may begin before the calendar
            continue
        since = _is_since(text, mention)
        if _UNTIL.search(text[max(0, mention.start - 40) : mention.start]):
            ends = ends or _instant(mention.first_day, said)
        elif begins is None and mention.first_day <= said.date() and (not past or since):
            begins = _instant(mention.first_day, said)
            if not since and _tells_of_a_change(text) and said.date() - mention.last_day > _NEWS:
                begun_by = _instant(mention.last_day + timedelta(days=1), said)
    if begins is None and not past:
        for phrase in within:
            text = text.replace(phrase, " ")
        begins, begun_by = _unknown(text)
    return StatementTimes(begins, ends if past or (ends and ends <= said) else None, begun_by)


def _repaired(text: str, within: Sequence[str], said: datetime) -> tuple[str, Sequence[str]]:
    """Remove dates that are immediately corrected: "in 2019, sorry, 2020" becomes "in 2020".

    If the corrected date is part of an object and so doesn't date the statement, neither does the new one.
    """
    for term in reversed(list(islice(editing_terms(text, [Span(0, len(text))]), _MOST_TERMS))):
        lead = LEAD.match(text, term.end)
        begin = max(0, term.start - REACH)
        last = next(reversed(find_dates(text[begin : term.start], said)), None)
        if lead is None or last is None or text[begin + last.end : term.start].strip(PAUSES):
            continue
        start, skipped = begin + last.start, lead.end() - begin - last.start
        joined = text[begin:start] + text[lead.end() : lead.end() + LONGEST_DATE]
        new = next((one for one in find_dates(joined, said) if one.start <= last.start < one.end), None)
        if new is None or not ends_alike(text, begin + new.end + skipped, begin + last.end):
            continue
        if text[start : begin + last.end] in within:
            within = [*within, joined[new.start : new.end]]
        text = text[:start] + text[lead.end() :]
    return text, within


def names_unknown_time(text: str) -> bool:
    """Return True if a sentence mentions a past time without giving a date: "when I was 20", "for years"."""
    return _unknown(text)[0] is not None


def with_event(text: str, start: int, end: int) -> str:
    """Extend the time at `text[start:end]` by the event that defines it: "the day" becomes "the day the Wall fell"."""
    event = _EVENT.match(text, start)
    return event[0].rstrip() if event and event.end() > end else text[start:end]


def _unknown(text: str) -> tuple[datetime | None, datetime | None]:
    """Return a statement's `begins` and `begun_by`.

    Both are None unless the sentence mentions a past time without a date.
    """
    if _tells_of_a_change(text):
        if _LONG_AGO.search(text):
            return UNKNOWN_BEGIN, UNKNOWN_BEGIN
        return (UNKNOWN_BEGIN, None) if _VAGUE.search(text) else (None, None)
    return (UNKNOWN_BEGIN, None) if _STILL.search(text) and leading(text) > 0 else (None, None)


def _tells_of_a_change(text: str) -> bool:
    """Return True if a sentence describes an event, rather than the situation when it was said."""
    return not _HAN_NOW.search(text) if script(text) == "cjk" else leading(text) < 0


def _is_since(text: str, mention: DateMention) -> bool:
    before, after = text[max(0, mention.start - 40) : mention.start], text[mention.end : mention.end + 4]
    return bool(_SINCE.search(before) or _HAN_SINCE.match(after))


def _instant(day: date, said: datetime) -> datetime:
    return datetime.combine(day, time(), tzinfo=said.tzinfo or UTC)
