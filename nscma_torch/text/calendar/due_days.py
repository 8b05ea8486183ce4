"""Find the days on which something that a sentence tells falls due: "The form has to be in by the 14th", "choir every
Tuesday". English only.

A day without a year is the next one, because what is noted with a day is mostly to come. "By", "until" and "end of"
mean the last day of a period; another period of more than a weekend is no day. Repetitions are every week or other
week on a weekday ("every Tuesday and Thursday", "on Mondays", "every other Friday"), every month on a day ("the first
of each month", "the first Thursday of every month"), and every year for birthdays and anniversaries. A day in a clause
that denies or supposes something ("there's no market on the 27th", "if they strike on Friday") doesn't count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta

from nscma_torch.text.calendar.calendar_spans import later_day, shifted_month
from nscma_torch.text.calendar.dates import DateMention, find_dates
from nscma_torch.text.calendar.tense import direction
from nscma_torch.text.calendar.time_limits import time_limit
from nscma_torch.text.calendar.timestamps import WEEKDAYS
from nscma_torch.text.number_words import TO_TWENTY

_DAY_NAME = r"(?:mon|tues|tue|wednes|weds|wed|thurs|thur|thu|fri|satur|sat|sun)(?:day)?"
_WHOLE_NAMES = "|".join(WEEKDAYS)
_ORDINAL_WORDS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth"),
)
_ORDINAL = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(_ORDINAL_WORDS)})"
_COUNT = rf"(?:\d{{1,2}}|an?|{'|'.join(TO_TWENTY[1:13])})"
_MONTH_REPEATED = r"(?:of\s+)?(?:every|each|the)\s+month"

_WEEKLY = re.compile(
    rf"\b(?:every|each)\s+(?P<other>other\s+|second\s+)?(?P<days>{_DAY_NAME}(?:(?:\s*[,&+]\s*|\s+(?:and|n|&)\s+){_DAY_NAME}){{0,4}})s?\b"
    rf"|\b(?P<plural>(?:{_WHOLE_NAMES})s(?:(?:,\s*|\s+(?:and|n|&)\s+)(?:{_WHOLE_NAMES})s){{0,4}})\b(?!['’])"
    rf"|\b(?:weekly|every\s+week)\b[^.;!?]{{0,24}}?\bon\s+(?P<on>{_DAY_NAME})\b",
    re.IGNORECASE,
)
_MONTHLY = re.compile(
    rf"\bthe\s+(?P<day>{_ORDINAL})(?:\s+day)?\s+{_MONTH_REPEATED}\b|\b(?:every|each)\s+month\s+on\s+the\s+(?P<on>{_ORDINAL})\b",
    re.IGNORECASE,
)
_NTH_WEEKDAY = re.compile(
    rf"\bthe\s+(?P<which>first|second|third|fourth|last)\s+(?P<day>{_DAY_NAME})\s+(?:(?P<repeated>{_MONTH_REPEATED})|of\s+this\s+month)\b",
    re.IGNORECASE,
)
_YEARLY = re.compile(r"\b(?:birthday|bday|anniversary|born\s+on)\b", re.IGNORECASE)
_DAY_OF_MONTH = re.compile(
    rf"\b(?:by|on|to|for|until|till|is|are|due|begins?|starts?|ends?|expires?|from|before|{_DAY_NAME})\s+(?:on\s+)?(?:the\s+)?"
    rf"(?P<day>\d{{1,2}}(?:st|nd|rd|th)|(?<=the\s){_ORDINAL})\b(?!\s+(?:of\s+(?!this)|floor|time|grade|year|century|place|{_DAY_NAME}\b))",
    re.IGNORECASE,
)

_NAMED = re.compile(
    rf"\b(?:next\s+)?(?P<day>{_WHOLE_NAMES})\b(?!['’]s?\s)|\b(?:on|by|next|this|until|till)\s+(?P<short>{_DAY_NAME})\b(?!['’])",
    re.IGNORECASE,
)
_END = re.compile(
    r"\b(?:end|last\s+day)\s+of\s+(?:the\s+|this\s+)?(?P<next>next\s+)?(?P<unit>week|month|year)\b", re.IGNORECASE
)
_IN = re.compile(
    rf"\b(?:in|within|good\s+for|valid\s+for)\s+(?:exactly\s+)?(?P<count>{_COUNT})\s+(?P<unit>day|week|month)s?\b(?!['’])"
    rf"|\b(?:ends?|due|expires?|over|up)\s+(?:in\s+)?exactly\s+(?P<some>{_COUNT})\s+(?P<units>day|week|month)s?\b",
    re.IGNORECASE,
)
_BY = re.compile(
    r"\b(?:by|before|until|till|til|through|valid|expires?|runs\s+out|due|deadline|latest|end\s+of|last\s+day\s+of)\b[^.;!?]{0,24}$",
    re.IGNORECASE,
)
_NOT_TOLD = re.compile(
    r"\b(?:no|not|never|nothing|without|instead\s+of|rather\s+than|if|unless|would|could\s+have|last|isnt|wont|wasnt)\b|n['’]t\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,.;:!?–—(]|\s-\s|\b(?:but|so|because|bc|and)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LONGEST = timedelta(days=2)  # from the first to the last day of what is still a day: a weekend
_AHEAD = timedelta(days=183)  # a day without a year that is farther ahead was meant in the past


def due_days(sentence: str, said: datetime, first: date, last: date) -> list[date]:
    """Return the days from `first` to `last` on which something falls due, in order.

    `said` is when the sentence was said; its time zone determines the day.
    """
    found = {*_repeated(sentence, said, first, last), *_once(sentence, said)}
    return sorted(day for day in found if max(first, said.date()) <= day <= last)


def _once(sentence: str, said: datetime) -> Iterator[date]:
    today = said.date()
    taken = [m.span() for pattern in (_WEEKLY, _MONTHLY, _NTH_WEEKDAY) for m in pattern.finditer(sentence)]
    found: list[tuple[int, int, date | None]] = [
        (one.start, one.end, _day_of(sentence, one, today)) for one in find_dates(sentence, said)
    ]
    found += [(*m.span("day"), _next_numbered(today, _number(m["day"]))) for m in _DAY_OF_MONTH.finditer(sentence)]
    found += [(*m.span(), _end_of(today, m["unit"].lower(), later=bool(m["next"]))) for m in _END.finditer(sentence)]
    for m in _IN.finditer(sentence):
        found.append((*m.span(), later_day(today, (m["unit"] or m["units"]).lower(), _count(m["count"] or m["some"]))))
    for m in _NTH_WEEKDAY.finditer(sentence):
        if not m["repeated"] and not _is_untold(sentence, m.start()):
            yield _nth(today, m["which"].lower(), _weekday(m["day"]))
    dated = [(start, end) for start, end, _ in found]
    for m in _NAMED.finditer(sentence):
        if not any(start <= m.start() < end + 8 for start, end in dated) and not _is_month_day(sentence, m.end()):
            found.append(
                (*m.span(), today + timedelta(days=(_weekday(m["day"] or m["short"]) - today.weekday() - 1) % 7 + 1))
            )
    for start, end, day in found:
        if day is None or any(begin < end and start < finish for begin, finish in taken):
            continue
        if not _is_untold(sentence, start) and _may_be_ahead(sentence, start, end):
            yield day


def _may_be_ahead(sentence: str, start: int, end: int) -> bool:
    """Return False for a weekday in a clause about the past: "I saw her on Monday"."""
    return not _NAMED.fullmatch(sentence, start, end) or direction(sentence, start, end) >= 0


def _is_month_day(sentence: str, end: int) -> bool:
    """Return True if a weekday is followed by a number: "Thursday 12 March" names one day."""
    return bool(re.match(r",?\s+(?:the\s+)?\d", sentence[end:]))


def _day_of(sentence: str, mention: DateMention, today: date) -> date | None:
    """Return the day that a mention means, if it is one and can be to come."""
    words = sentence[mention.start : mention.end]
    if _NAMED.fullmatch(words) and not words.lower().startswith(("this", "next")):
        return today + timedelta(days=(_weekday(words) - today.weekday() - 1) % 7 + 1)
    if _BY.search(sentence[: mention.start]):
        day = mention.last_day
    elif mention.last_day - mention.first_day > _LONGEST:
        return None
    else:
        day = mention.first_day
    if day < today and any(map(str.isdigit, words)) and not _YEAR.search(words):
        later = _in_year(day, today.year if (day.month, day.day) >= (today.month, today.day) else today.year + 1)
        return later if later is not None and later - today <= _AHEAD else None
    return day


def _repeated(sentence: str, said: datetime, first: date, last: date) -> Iterator[date]:
    until = time_limit(sentence, said)
    ends = last if until is None else min(last, until)
    days = [first + timedelta(days=number) for number in range((ends - first).days + 1)]
    for m in _WEEKLY.finditer(sentence):
        if _is_untold(sentence, m.start()) or direction(sentence, *m.span()) < 0:
            continue
        for name in re.findall(_DAY_NAME, m["days"] or m["plural"] or m["on"], re.IGNORECASE):
            begin = said.date() + timedelta(days=(_weekday(name) - said.weekday()) % 7)
            for day in days:
                weeks, rest = divmod((day - begin).days, 7)
                if not rest and weeks >= 0 and not (m["other"] and weeks % 2):
                    yield day
    fits: list[Callable[[date], bool]] = []
    for m in _MONTHLY.finditer(sentence):
        number = _number(m["day"] or m["on"])
        fits.append(lambda day, number=number: day.day == number)  # type: ignore[misc]
    for m in _NTH_WEEKDAY.finditer(sentence):
        if m["repeated"]:
            which, weekday = m["which"].lower(), _weekday(m["day"])
            fits.append(lambda day, which=which, weekday=weekday: day == _nth(day, which, weekday))  # type: ignore[misc]
    if _YEARLY.search(sentence):
        yearly = {(one.first_day.month, one.first_day.day) for one in find_dates(sentence, said) if _is_a_day(one)}
        fits.append(lambda day: (day.month, day.day) in yearly)
    yield from (day for day in days if any(fit(day) for fit in fits))


def _is_a_day(mention: DateMention) -> bool:
    return mention.first_day == mention.last_day


def _is_untold(sentence: str, start: int) -> bool:
    """Return True if the clause before a day denies or supposes what it tells."""
    return bool(_NOT_TOLD.search(_CLAUSE.split(sentence[max(0, start - 60) : start])[-1]))


def _weekday(name: str) -> int:
    short = name.lower().split()[-1][:3]
    return next(place for place, own in enumerate(WEEKDAYS) if own.lower().startswith(short))


def _number(ordinal: str) -> int:
    digits = re.match(r"\d+", ordinal)
    return int(digits[0]) if digits else _ORDINAL_WORDS.index(ordinal.lower()) + 1


def _count(word: str) -> int:
    return int(word) if word.isdecimal() else 1 if word.lower() in ("a", "an") else TO_TWENTY.index(word.lower())


def _next_numbered(today: date, number: int) -> date | None:
    """Return the next day with this number in its month."""
    for months in range(3):
        first, last = shifted_month(today, months)
        if 1 <= number <= last.day and first.replace(day=number) >= today:
            return first.replace(day=number)
    return None


def _nth(day: date, which: str, weekday: int) -> date:
    """Return the first, second, …, last weekday of a day's month."""
    first, last = shifted_month(day, 0)
    if which == "last":
        return last - timedelta(days=(last.weekday() - weekday) % 7)
    begin = first + timedelta(days=(weekday - first.weekday()) % 7)
    return begin + timedelta(days=7 * _ORDINAL_WORDS.index(which))


def _end_of(today: date, unit: str, *, later: bool) -> date:
    if unit == "week":
        return today + timedelta(days=6 - today.weekday() + 7 * later)
    if unit == "year":
        return date(today.year + later, 12, 31)
    return shifted_month(today, int(later))[1]


def _in_year(day: date, year: int) -> date | None:
    try:
        return day.replace(year=year)
    except ValueError:  # 29 February
        return None
