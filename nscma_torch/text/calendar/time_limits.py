"""Find the last day on which a sentence's statement holds: "until Friday", "for two weeks", "in October only".

English only. Limits are read from four forms:

- "until 30 April", "till Easter", "through Friday", "from 1 June to 12 July": the last of the named days;
- "for ten days from 3 November", "for the next two weeks": counted from the named day, or from the day it was said;
  a perfect tense ("I have lived here for ten years") sets no limit;
- "for October only", "only this week", "it's only for February": the last day of the period;
- "every Tuesday in April", "this month Ana does the shopping": the same, for a habit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from nscma_torch.text.calendar.calendar_spans import later_day
from nscma_torch.text.calendar.dates import MONTH, DateMention, find_dates
from nscma_torch.text.calendar.tense import leading
from nscma_torch.text.number_words import TO_TWENTY

_TILL = re.compile(r"\b(?:till|til)\b", re.IGNORECASE)
_FOR_MONTH = re.compile(rf"\bfor\s+(?P<only>only\s+|just\s+)?(?={MONTH})", re.IGNORECASE)
_EASTER = re.compile(r"(?<=easter) sunday", re.IGNORECASE)
_WEEKDAY = re.compile(r"\w+days?", re.IGNORECASE)
_UNTIL = re.compile(
    r"\buntil(?:\s+(?:and\s+including|the\s+(?:end|last\s+day)\s+of|the))?\s+$"
    r"|\bup\s+to(?:\s+and\s+including)?(?:\s+the)?\s+$|\bthrough(?:\s+to)?\s+$",
    re.IGNORECASE,
)
_FROM = re.compile(r"\b(?:from|between)\s+(?:the\s+)?$", re.IGNORECASE)
_TO = re.compile(r"^\s*(?:to|until|through|and|-|–)\s+(?:the\s+)?$", re.IGNORECASE)
_STARTING = re.compile(r"\b(?:from|starting|beginning|as\s+of)(?:\s+(?:on|from))?\s+(?:the\s+)?$", re.IGNORECASE)
_NUMBERS = {word: number for number, word in enumerate(TO_TWENTY)} | {"a": 1, "an": 1, "one": 1}
_LENGTH = re.compile(
    rf"\bfor\s+(?:only\s+|just\s+|about\s+|the\s+)?(?:(?:next|coming|following|first)\s+)?"
    rf"(?P<count>\d{{1,3}}|(?:a\s+)?couple\s+of|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\s+"
    rf"(?P<unit>day|week|month|year)s?\b",
    re.IGNORECASE,
)
_PERFECT = re.compile(
    r"\b(?:ha(?:ve|s|d)|having|haven['’]t|hasn['’]t)\b|['’]ve\b|\b(?:he|she|it)['’]s\s+been\b", re.IGNORECASE
)
_ONLY = re.compile(r"\b(?:only|just|alone)\b", re.IGNORECASE)
_HABIT = re.compile(r"\b(?:every|each)\s+\w+\s+(?:in|of|during)\s+$", re.IGNORECASE)
_THIS = re.compile(r"this\s", re.IGNORECASE)
_NEAR = 24  # characters between "only" and its period
_PERIOD = timedelta(days=4)  # "a period" is longer than a weekend


def time_limit(sentence: str, said: datetime) -> date | None:
    """Return the last day on which a sentence's statement holds, or None if the sentence sets no limit.

    `said` is when the sentence was said; its time zone determines the day.
    """
    sentence = _EASTER.sub("", _TILL.sub("until", _FOR_MONTH.sub(lambda m: f"{m['only'] or ''}in ", sentence)))
    dates = find_dates(sentence, said)
    return max(
        (*_until(sentence, dates), *_counted(sentence, dates, said), *_periods(sentence, dates, said)), default=None
    )


def _until(sentence: str, dates: list[DateMention]) -> Iterator[date]:
    for place, mention in enumerate(dates):
        if _UNTIL.search(sentence[: mention.start]):
            yield mention.last_day
        elif place and _TO.match(sentence[dates[place - 1].end : mention.start]):
            weekdays = _WEEKDAY.fullmatch(sentence, mention.start, mention.end)  # "from Monday to Friday" every week
            if not weekdays and _FROM.search(sentence[: dates[place - 1].start]):
                yield mention.last_day


def _counted(sentence: str, dates: list[DateMention], said: datetime) -> Iterator[date]:
    for length in _LENGTH.finditer(sentence):
        start = next((one.first_day for one in dates if _STARTING.search(sentence[length.end() : one.start])), None)
        if start is None and (_PERFECT.search(sentence[: length.start()]) or leading(sentence) < 0):
            continue
        count = length["count"].lower()
        number = int(count) if count.isdecimal() else _NUMBERS.get(count, 2)
        try:
            yield later_day(start or said.date(), length["unit"].lower(), number)
        except (ValueError, OverflowError):  # beyond the calendar
            continue


def _periods(sentence: str, dates: list[DateMention], said: datetime) -> Iterator[date]:
    for mention in dates:
        if mention.last_day - mention.first_day < _PERIOD or mention.last_day < said.date():
            continue
        before, after = sentence[: mention.start], sentence[mention.end :]
        only = _ONLY.search(before[-_NEAR:]) or _ONLY.match(after.lstrip(" ,"))
        habit = _THIS.match(sentence, mention.start) and leading(sentence) >= 0
        if only or habit or _HABIT.search(before):
            yield mention.last_day
