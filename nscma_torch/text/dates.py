"""Dates that a text speaks of ("12 May 2023", "last Saturday", 三天前), resolved against the day it was said.

Own rules, because the kept library for this (dateparser) takes milliseconds a text, brings four packages, and finds
dates in words such as "on". Readings chosen where English or Chinese leaves it open:

- a date without a year is the one nearest to the anchor; a bare weekday is the latest one up to the anchor's day;
- "last Saturday" is the latest one before that day, "this" the next one from that day, "next" the one in next week;
- 上周六, 周六, 下周六 count calendar weeks; weeks begin on Monday;
- an expression is as wide as its unit: "two weeks ago" is a calendar week, "last month" a month, "in 2022" a year;
- all-numeric dates with slashes are read only where day and month cannot be confused.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from nscma_torch.text.number_words import HAN_DIGITS, TO_TWENTY
from nscma_torch.text.timestamps import MONTHS, WEEKDAYS

DaySpan = tuple[date, date]  # first and last day, both included
_Resolver = Callable[[re.Match[str], date], DaySpan | None]


@dataclass(frozen=True, slots=True)
class DateMention:
    """An expression at `text[start:end]` that means the days `first_day` to `last_day`, both included."""

    start: int
    end: int
    first_day: date
    last_day: date

    @property
    def instants(self) -> tuple[datetime, datetime]:
        """The first instant of these days and the first one after them, in UTC; none comes after the year 9999."""
        end = datetime.max if self.last_day == date.max else datetime.combine(self.last_day + timedelta(1), time())
        return datetime.combine(self.first_day, time(), UTC), end.replace(tzinfo=UTC)


def find_dates(text: str, anchor: datetime) -> list[DateMention]:
    """Date expressions of an English or Chinese text in order, without overlaps; the longest reading wins.

    `anchor` is when the text was said; its own time zone decides which day that is. Impossible dates (31 February) and
    dates outside the years 1 to 9999 are not mentions.
    """
    today = anchor.date()
    found: list[DateMention] = []
    lowered = text.lower()
    for pattern, resolve, hints in _RULES:
        if not any(hint in lowered for hint in hints):
            continue
        for match in pattern.finditer(text):
            try:
                days = resolve(match, today)
            except (ValueError, OverflowError):  # `date` refuses what the calendar does not have
                continue
            if days is not None:
                found.append(DateMention(*match.span("mention" if "mention" in pattern.groupindex else 0), *days))
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[DateMention] = []
    for mention in found:
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept


def _month(year: int, month: int) -> DaySpan:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _shifted_month(today: date, months: int) -> DaySpan:
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return _month(year, month + 1)


def _year(year: int) -> DaySpan:
    return date(year, 1, 1), date(year, 12, 31)


def _week(today: date, weeks: int) -> DaySpan:
    monday = today + timedelta(days=7 * weeks - today.weekday())
    return monday, monday + timedelta(days=6)


def _day(day: date) -> DaySpan:
    return day, day


def _shift(today: date, unit: str, count: int) -> DaySpan:
    if unit == "day":
        return _day(today + timedelta(days=count))
    if unit == "week":
        return _week(today, count)
    return _shifted_month(today, count) if unit == "month" else _year(today.year + count)


def _nearest(days_of: Callable[[int], DaySpan], today: date) -> DaySpan:
    """The span nearest to today among last year's, this year's and next year's; the earlier one of a tie."""
    spans = []
    for year in (today.year - 1, today.year, today.year + 1):
        try:
            spans.append(days_of(year))
        except ValueError:  # 29 February, or the end of the calendar
            continue
    return min(spans, key=lambda span: max(span[0] - today, today - span[1], timedelta(0)))


def _day_and_month(month: int, day: int, year: str | None, today: date) -> DaySpan:
    if year:
        return _day(date(int(year), month, day))
    return _nearest(lambda y: _day(date(y, month, day)), today)


# English

_MONTH_NUMBER = {name[:3].lower(): i + 1 for i, name in enumerate(MONTHS)}
_WEEKDAY_NUMBER = {name[:3].lower(): i for i, name in enumerate(WEEKDAYS)}
_ENGLISH_NUMBERS = {word: number for number, word in enumerate(TO_TWENTY)} | {"a": 1, "an": 1}
_VAGUE = (2, 5)  # "a few days ago", 几天前: from two to five units

MONTH = rf"(?:{'|'.join(MONTHS)})\b|(?:{'|'.join(name[:3] for name in MONTHS)}|Sept)\b\.?"
_WDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_DAY = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_COUNT = rf"\d{{1,4}}|(?:a\s+)?couple(?:\s+of)?|(?:{'|'.join(_ENGLISH_NUMBERS)})\b"
_AFTER = r"\b(?:in|of|since|during|until|by|before|after|year|early|mid|late)[\s-]+"
_FEW = r"a\s+few|few|several"
_UNIT = r"(?P<unit>day|week|month|year)s?"


def _month_of(word: str) -> int:
    return _MONTH_NUMBER[word[:3].lower()]


def _day_of(word: str) -> int:
    return int(word.rstrip("stndrhSTNDRH"))


def _count_of(word: str) -> int:
    if "couple" in word.lower():
        return 2
    return int(word) if word.isdecimal() else _ENGLISH_NUMBERS[word.lower()]


def _english_day(match: re.Match[str], today: date) -> DaySpan | None:
    if (
        match["month"] in ("may", "march", "mar") and not match["year"]
    ):  # "12 may come": a verb, unless written as a name
        return None
    return _day_and_month(_month_of(match["month"]), _day_of(match["day"]), match["year"], today)


def _slashed(first: int, second: int, year: int) -> DaySpan | None:
    if first > 12 or first == second:
        return _day(date(year, second, first))
    return _day(date(year, first, second)) if second > 12 else None


def _named_day(match: re.Match[str], today: date) -> DaySpan:
    name = " ".join(match[0].lower().split())
    if name.startswith(("the day before", "day before")):
        return _day(today - timedelta(days=2))
    if name.startswith(("the day after", "day after")):
        return _day(today + timedelta(days=2))
    return _day(today + timedelta(days={"yes": -1, "las": -1, "tom": 1}.get(name[:3], 0)))


def _weekday(match: re.Match[str], today: date) -> DaySpan:
    word, number = match["which"], _WEEKDAY_NUMBER[match["day"][:3].lower()]
    which = (word or "").lower()
    since = (today.weekday() - number) % 7
    if which in ("last", "past", "previous"):
        return _day(today - timedelta(days=since or 7))
    if which in ("this", "coming"):
        return _day(today + timedelta(days=-since % 7))
    if which == "next":
        return _day(_week(today, 1)[0] + timedelta(days=number))
    return _day(today - timedelta(days=since))


def _relative_unit(match: re.Match[str], today: date) -> DaySpan:
    step = {"this": 0, "next": 1, "coming": 1}.get(match["which"].lower(), -1)
    unit = match["unit"].lower()
    if unit == "weekend":
        saturday = _week(today, step)[0] + timedelta(days=5)
        return saturday, saturday + timedelta(days=1)
    return _shift(today, unit, step)


def _month_alone(match: re.Match[str], today: date) -> DaySpan:
    month = _month_of(match["mention"])
    return _nearest(lambda year: _month(year, month), today)


def _relative_month(match: re.Match[str], today: date) -> DaySpan:
    which, month = match["which"].lower(), _month_of(match["month"])
    if which == "last":
        return _month(today.year - (month >= today.month), month)
    return _month(today.year + (which == "next" and month <= today.month), month)


def _distance(match: re.Match[str], today: date) -> DaySpan:
    unit, sign = match["unit"].lower(), 1 if match["ahead"] else -1
    if not match["few"]:
        return _shift(today, unit, sign * _count_of(match["count"]))
    ends = [_shift(today, unit, sign * count) for count in _VAGUE]
    return min(ends)[0], max(ends)[1]


def _past_period(match: re.Match[str], today: date) -> DaySpan:
    count = _VAGUE[1] if match["few"] else _count_of(match["count"])
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[match["unit"].lower()]
    return today - timedelta(days=count * days), today


# Chinese

_HAN_NUMBER = r"\d{1,4}|[一二两兩三四五六七八九十]{1,3}"
_HAN_WEEKDAYS = {char: i for i, char in enumerate("一二三四五六日")} | {"天": 6, "末": 5}
_HAN_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "後": 2, "大后": 3, "大後": 3}
_HAN_YEARS = {"前": -2, "去": -1, "今": 0, "明": 1, "后": 2, "後": 2}
_HAN_UNITS = {"天": "day", "日": "day", "月": "month", "年": "year"}  # all others are words for a week
_HAN_WEEK = "(?:周|週|星期|礼拜|禮拜)"
_HAN_DAY = rf"(?P<day>{_HAN_NUMBER})[日号號]"


def _han_number(word: str) -> int:
    """12, 十二, 二十 or 二十三."""
    if word.isdecimal():
        return int(word)
    tens, ten, ones = word.partition("十")
    if ten:
        return 10 * (HAN_DIGITS[tens] if tens else 1) + (HAN_DIGITS[ones] if ones else 0)
    return int("".join(str(HAN_DIGITS[char]) for char in word))


def _han_calendar(match: re.Match[str], today: date) -> DaySpan:
    word = match["year"]
    relative = word[0] in _HAN_YEARS
    year = today.year + _HAN_YEARS[word[0]] if relative else int("".join(str(HAN_DIGITS.get(c, c)) for c in word))
    if not match["month"]:
        return _year(year)
    month = _han_number(match["month"])
    return _day(date(year, month, _han_number(match["day"]))) if match["day"] else _month(year, month)


def _han_month_day(match: re.Match[str], today: date) -> DaySpan:
    month = _han_number(match["month"])
    if match["day"]:
        return _day_and_month(month, _han_number(match["day"]), None, today)
    return _nearest(lambda year: _month(year, month), today)


def _han_named_day(match: re.Match[str], today: date) -> DaySpan:
    return _day(today + timedelta(days=_HAN_DAYS[match["which"]]))


def _han_week(match: re.Match[str], today: date) -> DaySpan:
    which, day = match["which"] or "", match["day"] or match["bare"]
    monday, sunday = _week(today, which.count("下") - which.count("上"))
    if not day:
        return monday, sunday
    first = monday + timedelta(days=_HAN_WEEKDAYS[day])
    return first, sunday if day == "末" else first


def _han_relative_month(match: re.Match[str], today: date) -> DaySpan:
    first, last = _shifted_month(today, {"上": -1, "下": 1}.get(match["which"], 0))
    return _day(first.replace(day=_han_number(match["day"]))) if match["day"] else (first, last)


def _han_distance(match: re.Match[str], today: date) -> DaySpan:
    unit, sign = _HAN_UNITS.get(match["unit"], "week"), -1 if "前" in match["side"] else 1
    if match["count"] in ("几", "幾"):
        ends = [_shift(today, unit, sign * count) for count in _VAGUE]
        return min(ends)[0], max(ends)[1]
    return _shift(today, unit, sign * _han_number(match["count"]))


def _rule(pattern: str, resolve: _Resolver, hints: str) -> tuple[re.Pattern[str], _Resolver, tuple[str, ...]]:
    """A pattern, what it means, and the words of which one must occur in lower case before the pattern is worth trying.

    A group named `mention` is the expression proper, where the pattern also looks at what stands before it.
    """
    return re.compile(pattern, re.IGNORECASE), resolve, tuple(hints.split())


_ISO_DAY = r"(?<![\d-])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d|-\d)"
_ISO_MONTH = rf"(?<![\d-])({_YEAR})-(0[1-9]|1[0-2])(?![\d-])"
_SLASHED = r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])"
_DAY_MONTH = rf"\b(?P<day>{_DAY})(?:\s+of)?[\s-]+(?P<month>{MONTH})(?:,?[\s-]+(?P<year>{_YEAR})\b)?"
_MONTH_DAY = rf"\b(?P<month>{MONTH})\s+(?:the\s+)?(?P<day>{_DAY})\b(?![:.]?\d)(?:,?\s+(?P<year>{_YEAR})\b)?"
_NAMED_DAY = (
    r"\b(?:(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow)|yesterday|today|tonight|tomorrow|last\s+night"
    r"|this\s+(?:morning|afternoon|evening))\b"
)
_WHICH = r"(?P<which>last|past|previous|this|coming|next)"
_DISTANCE = rf"(?:(?P<few>{_FEW})|(?P<count>{_COUNT}))\s+{_UNIT}"
_HAN_YEAR = r"(?P<year>(?<!\d)\d{4}|[一二][〇零一二三四五六七八九]{3}|[前去今明后後](?=年))年"
_HAN_MONTH = r"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月"
_HAN_WEEK_OR_DAY = (
    rf"(?:(?P<which>上上|下下|[上下这這本])[一个個]?{_HAN_WEEK}(?P<day>[一二三四五六日天末])?"
    rf"|{_HAN_WEEK}(?P<bare>[一二三四五六日天末]))"
)
_HAN_AGO = (
    rf"(?P<count>{_HAN_NUMBER}|[几幾])[个個]?(?P<unit>{_HAN_WEEK}|[天日年]|(?<=[个個])月)[之以]?(?P<side>[前后後])"
)

_DIGITS = "0 1 2 3 4 5 6 7 8 9"
_MONTHS = " ".join(_MONTH_NUMBER)
_UNITS = "day week month year"

_RULES = (
    _rule(_ISO_DAY, lambda m, _: _day(date(int(m[1]), int(m[3]), int(m[4]))), _DIGITS),
    _rule(_ISO_MONTH, lambda m, _: _month(int(m[1]), int(m[2])), _DIGITS),
    _rule(_SLASHED, lambda m, _: _slashed(int(m[1]), int(m[2]), int(m[3])), _DIGITS),
    _rule(_DAY_MONTH, _english_day, _DIGITS),
    _rule(_MONTH_DAY, _english_day, _DIGITS),
    _rule(rf"\b({MONTH}),?(?:\s+of)?\s+({_YEAR})\b", lambda m, _: _month(int(m[2]), _month_of(m[1])), _DIGITS),
    _rule(rf"{_AFTER}(?P<mention>{_YEAR})\b(?![-/.,]\d)", lambda m, _: _year(int(m["mention"])), _DIGITS),
    _rule(rf"{_AFTER}(?P<mention>{MONTH})", _month_alone, _MONTHS),
    _rule(rf"\b(?P<which>last|this|next)\s+(?P<month>{MONTH})(?!\s+\d)", _relative_month, _MONTHS),
    _rule(_NAMED_DAY, _named_day, "day night morrow morning afternoon evening"),
    _rule(rf"\b(?:{_WHICH}\s+)?(?P<day>{_WDAY})\b", _weekday, "day"),
    _rule(rf"\b{_WHICH}\s+(?P<unit>week|month|year|weekend)\b", _relative_unit, _UNITS),
    _rule(rf"\b{_DISTANCE}\s+(?:ago|back|earlier|(?P<ahead>from\s+(?:now|today)))\b", _distance, _UNITS),
    _rule(rf"\b(?P<ahead>in)\s+{_DISTANCE}(?:'s?\s+time)?\b", _distance, _UNITS),
    _rule(rf"\b(?:the\s+)?(?:past|last)\s+{_DISTANCE}\b", _past_period, _UNITS),
    _rule(rf"{_HAN_YEAR}(?:(?P<month>{_HAN_NUMBER})月份?(?:{_HAN_DAY})?)?", _han_calendar, "年"),
    _rule(rf"(?<![\d年个個上下这這本十]){_HAN_MONTH}(?:{_HAN_DAY}|份)?", _han_month_day, "月"),
    _rule(r"(?P<which>大前|大后|大後|[前昨今明后後])[天日晚早]", _han_named_day, "天 日 晚 早"),
    _rule(_HAN_WEEK_OR_DAY, _han_week, "周 週 星期 礼拜 禮拜"),
    _rule(rf"(?P<which>[上下这這本])[个個]?月(?:{_HAN_DAY})?", _han_relative_month, "月"),
    _rule(_HAN_AGO, _han_distance, "前 后 後"),
)
