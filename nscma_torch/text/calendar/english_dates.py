"""English date expressions: rules for `dates.find_dates`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from nscma_torch.text.calendar.calendar_spans import (
    VAGUE,
    DaySpan,
    date_rule,
    day_span,
    easter,
    joined,
    month_span,
    months_span,
    nearest,
    shift,
    shifted_month,
    third,
    week_span,
    year_span,
)
from nscma_torch.text.calendar.tense import Direction, direction
from nscma_torch.text.calendar.timestamps import MONTHS, WEEKDAYS
from nscma_torch.text.number_words import LARGER, TO_TWENTY

_MONTH_NUMBER = {name[:3].lower(): i + 1 for i, name in enumerate(MONTHS)}
_WEEKDAY_NUMBER = {name[:3].lower(): i for i, name in enumerate(WEEKDAYS)}
_ENGLISH_NUMBERS = {word: number for number, word in enumerate(TO_TWENTY)} | {"a": 1, "an": 1}
_TENS = {word[:-1] + "ies": 10 * i for i, word in enumerate((TO_TWENTY[20], *LARGER[:7]), 2)}  # "nineties": 90
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # their first months, of the north
_HOLIDAYS: dict[str, Callable[[int], date]] = {
    "new year's eve": lambda year: date(year, 12, 31),
    "new year": lambda year: date(year, 1, 1),
    "valentine": lambda year: date(year, 2, 14),
    "halloween": lambda year: date(year, 10, 31),
    "thanksgiving": lambda year: date(year, 11, 22 + (3 - date(year, 11, 1).weekday()) % 7),
    "christmas eve": lambda year: date(year, 12, 24),
    "christmas": lambda year: date(year, 12, 25),
    "boxing day": lambda year: date(year, 12, 26),
    "good friday": lambda year: easter(year) - timedelta(days=2),
    "easter monday": lambda year: easter(year) + timedelta(days=1),
    "shrove tuesday": lambda year: easter(year) - timedelta(days=47),
    "ash wednesday": lambda year: easter(year) - timedelta(days=46),
    "palm sunday": lambda year: easter(year) - timedelta(days=7),
    "maundy thursday": lambda year: easter(year) - timedelta(days=3),
    "whit sunday": lambda year: easter(year) + timedelta(days=49),
    "whit monday": lambda year: easter(year) + timedelta(days=50),
    "black friday": lambda year: date(year, 11, 23 + (3 - date(year, 11, 1).weekday()) % 7),
    "easter": easter,
}

_WDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_YEAR_SAID = rf"(?P<year>{_YEAR}\b|['’‘]\d\d\b(?!['’]?s))"  # 2004, '04
_THE_YEAR = re.compile(rf",?\s+(?:of\s+|in\s+)?{_YEAR_SAID}(?!\s*[-–/:]\d)(?!\s+(?:[a-z]+s|people)\b)", re.IGNORECASE)
MONTH = rf"(?:{'|'.join(MONTHS)})\b|(?:{'|'.join(name[:3] for name in MONTHS)}|Sept)\b\.?"
_DAY = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_COUNT = rf"\d{{1,4}}|(?:a\s+)?couple(?:\s+of)?|(?:{'|'.join(_ENGLISH_NUMBERS)})\b"
_AFTER = r"\b(?:in|of|from|since|during|until|by|before|after|year|back\s+in)[\s-]+"
_FEW = r"a\s+few|few|several"
_UNIT = r"(?P<unit>day|week|month|year|decade)s?"
_ABOUT = r"(?:around|about|circa|ca\.?|roughly|approximately|some)\s+"
_PART = r"(?P<part>early|mid|late|(?:the\s+)?(?:beginning|start|middle|end)\s+of)[\s-]+(?:the\s+)?"
_WHICH = r"(?P<which>last|past|previous|this|coming|next)"
_TURNS = r"(?P<which>last|this|next)"
_WEEK_OF = r"(?P<week>(?:the\s+)?week\s+of\s+(?:the\s+)?)?"
_NO_NOUN = r"(?=\s*(?:[.,;:!?)]|$)|\s+(?:at|in|with|for|to|and|or|but|because|so|if|i|we|he|she|they|you|it|my|our)\b)"


def _direction(match: re.Match[str]) -> Direction:
    return direction(match.string, *match.span())


def _month_of(word: str) -> int:
    return _MONTH_NUMBER[word[:3].lower()]


def _day_of(word: str) -> int:
    return int(word.rstrip("stndrhSTNDRH"))


def _count_of(word: str) -> int:
    if "couple" in word.lower():
        return 2
    return int(word) if word.isdecimal() else _ENGLISH_NUMBERS[word.lower()]


def _part_of(words: str) -> str:
    word = words.split()[-2] if words.lower().endswith("of") else words
    return {"beginning": "early", "start": "early", "middle": "mid", "end": "late"}.get(word.lower(), word.lower())


def _calendar_day(match: re.Match[str], today: date) -> DaySpan | None:
    month, day = _month_of(match["month"]), _day_of(match["day"])
    if match["year"]:
        span = day_span(date(_year_of(match["year"], today), month, day))
    elif match["month"] in ("may", "march", "mar"):  # "12 may come": a verb, unless written as a name
        return None
    else:
        span = nearest(lambda year: day_span(date(year, month, day)), today, _direction(match))
    return week_span(span[0], 0) if match["week"] else span


def _numeric(match: re.Match[str], _: date) -> DaySpan:
    """Parse a numeric date; if day and month could be swapped, return the span between the two possible dates."""
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    readings = []
    for day, month in ((first, second), (second, first)):
        if month <= 12:
            readings.append(day_span(date(year, month, day)))
    return joined(*readings)


def _day_of_month(match: re.Match[str], today: date) -> DaySpan:
    day, ahead = _day_of(match["day"]), _direction(match)
    found = []
    for months in range(-2, 3):
        first, last = shifted_month(today, months)
        own = first + timedelta(days=day - 1)
        if own <= last and (ahead <= 0 or own >= today) and (ahead >= 0 or own <= today):
            found.append(own)
    return day_span(min(found, key=lambda own: abs(own - today)))


def _named_day(match: re.Match[str], today: date) -> DaySpan:
    name = " ".join(match[0].lower().split())
    if name.startswith(("the day before", "day before")):
        return day_span(today - timedelta(days=2))
    if name.startswith(("the day after", "day after")):
        return day_span(today + timedelta(days=2))
    return day_span(today + timedelta(days={"yes": -1, "las": -1, "tom": 1}.get(name[:3], 0)))


def _weekday(match: re.Match[str], today: date) -> DaySpan:
    which, number = (match["which"] or "").lower(), _WEEKDAY_NUMBER[match["day"][:3].lower()]
    since = (today.weekday() - number) % 7
    if which in ("last", "past", "previous"):
        return day_span(today - timedelta(days=since or 7))
    if which in ("this", "coming"):
        return day_span(today + timedelta(days=-since % 7))
    if which == "next":
        return day_span(week_span(today, 1)[0] + timedelta(days=number))
    if _direction(match) > 0:
        return day_span(today + timedelta(days=-since % 7 or 7))
    return day_span(today - timedelta(days=since))


def _relative_unit(match: re.Match[str], today: date) -> DaySpan:
    step = {"this": 0, "next": 1, "coming": 1}.get(match["which"].lower(), -1)
    unit = match["unit"].lower()
    if unit == "weekend":
        saturday = week_span(today, step)[0] + timedelta(days=5)
        return saturday, saturday + timedelta(days=1)
    return shift(today, unit, step)


def _weekend(match: re.Match[str], today: date) -> DaySpan:
    saturday = week_span(today, 0)[0] + timedelta(days=5)
    if _direction(match) < 0 and saturday > today:
        saturday -= timedelta(days=7)
    return saturday, saturday + timedelta(days=1)


def _month_alone(match: re.Match[str], today: date) -> DaySpan:
    month = _month_of(match["month"])
    part = match.groupdict().get("part")

    def of_year(year: int) -> DaySpan:
        return third(month_span(year, month), _part_of(part)) if part else month_span(year, month)

    return nearest(of_year, today, _direction(match))


def _relative_month(match: re.Match[str], today: date) -> DaySpan:
    which, month = match["which"].lower(), _month_of(match["month"])
    if which == "last":
        return month_span(today.year - (month >= today.month), month)
    return month_span(today.year + (which == "next" and month <= today.month), month)


def _month_of_year(match: re.Match[str], today: date) -> DaySpan:
    span = month_span(_year_of(match["year"], today), _month_of(match["month"]))
    return third(span, _part_of(match["part"])) if match["part"] else span


def _year(match: re.Match[str], today: date) -> DaySpan:
    """Parse a year: "2015", "'98", "around 2015", "early 2009", "between 2010 and 2012"."""
    said = match.groupdict("")
    year = _year_of(said["year"], today)
    if said.get("about"):
        return joined(year_span(year - 1), year_span(year + 1))
    if said.get("until"):
        return joined(year_span(year), year_span(int(said["until"])))
    return third(year_span(year), _part_of(said["part"])) if said.get("part") else year_span(year)


def _year_of(words: str, today: date) -> int:
    digits = words.lstrip("'’‘")
    return _written_out(int(digits), today) if len(digits) == 2 else int(digits)


def _written_out(year: int, today: date) -> int:
    """Return the latest year that ends in these two digits and isn't after today's year."""
    year += today.year // 100 * 100
    return year if year <= today.year else year - 100


def _decade(match: re.Match[str], today: date) -> DaySpan:
    """Parse a decade: "the 1990s", "the early 2000s", "the late nineties"."""
    begin = _TENS.get(match["decade"].lower()) or int(match["decade"])
    begin = begin if begin > 99 else _written_out(begin, today)
    span = date(begin, 1, 1), date(begin + 9, 12, 31)
    return third(span, _part_of(match["part"])) if match["part"] else span


def _quarter(match: re.Match[str], today: date) -> DaySpan:
    number = int(match["number"]) if match["number"] else _ORDINALS[match["word"].lower()]
    if match["year"]:
        return months_span(_year_of(match["year"], today), 3 * number - 2, 3)
    return nearest(lambda year: months_span(year, 3 * number - 2, 3), today, _direction(match))


def _turned(match: re.Match[str], span_of: Callable[[int], DaySpan], today: date) -> DaySpan:
    """Return the season or holiday in the given year; without a year, return the last, next or nearest season or
    holiday.
    """
    said = match.groupdict("")
    if said.get("year"):
        return span_of(_year_of(said["year"], today))
    spans = [span_of(today.year + more) for more in range(-2, 3)]
    match said.get("which", "").lower():
        case "last":
            return max(span for span in spans if span[1] < today)
        case "next":
            return min(span for span in spans if span[0] > today)
    return nearest(span_of, today, _direction(match))


def _season(match: re.Match[str], today: date) -> DaySpan:
    month = _SEASONS[match["season"].lower()]
    return _turned(match, lambda year: months_span(year, month, 3), today)


def _holiday(match: re.Match[str], today: date) -> DaySpan:
    name = " ".join(match["name"].lower().replace("’", "'").split())
    day_of = next(day for key, day in _HOLIDAYS.items() if name.startswith(key))
    return _turned(match, lambda year: day_span(day_of(year)), today)


def _distance(match: re.Match[str], today: date) -> DaySpan:
    said = match.groupdict("")
    unit, sign = said["unit"].lower(), 1 if said["ahead"] else -1
    if said["few"]:
        return joined(*(shift(today, unit, sign * count) for count in VAGUE))
    count = _count_of(match["count"])
    about = count > 1 and (said.get("about") or said.get("so"))
    return joined(*(shift(today, unit, sign * (count + more)) for more in ((-1, 1) if about else (0,))))


def _past_period(match: re.Match[str], today: date) -> DaySpan:
    count = VAGUE[1] if match["few"] else _count_of(match["count"])
    days = {"day": 1, "week": 7, "month": 30, "year": 365, "decade": 3652}[match["unit"].lower()]
    return today - timedelta(days=count * days), today


def names_part_of(text: str, first: tuple[int, int], then: tuple[int, int]) -> bool:
    """Return True if a weekday or season is part of the numeric date that directly follows it: "Friday, 12 May
    2023"."""
    (start, end), (begin, after) = first, then
    digits = any(map(str.isdecimal, text[begin:after]))
    return digits and bool(_PART_NAME.search(text[start:end]) and _JOINT.fullmatch(text[end:begin]))


def with_year(text: str, start: int, end: int, days: DaySpan, today: date) -> tuple[int, DaySpan]:
    """Return a mention's end and span; if another year follows the mention, it is included and the span is moved to it.

    For example, "Midsummer Saturday 2013" is in 2013, whichever Saturday a rule chose.
    """
    said = _THE_YEAR.match(text, end)
    year = _year_of(said["year"], today) if said else days[0].year
    if said is None or days[0].year <= year <= days[1].year:
        return end, days
    if year < today.year and direction(text, start, end) > 0:  # "I land on Monday 1930": an hour
        return end, days
    return said.end(), year_span(year)


_PART_NAME = re.compile(rf"\b(?:{_WDAY}|{'|'.join(_SEASONS)})$", re.IGNORECASE)
_JOINT = re.compile(r"(?:,?\s{1,3}|\s{1,3}(?:of|in)\s{1,3})(?:the\s{1,3})?", re.IGNORECASE)
_ISO_DAY = r"(?<![\d-])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d|-\d)"
_ISO_MONTH = rf"(?<![\d-])({_YEAR})-(0[1-9]|1[0-2])(?![\d-])"
_NUMERIC = rf"(?<![\d/.-])(\d{{1,2}})([/.-])(\d{{1,2}})\2({_YEAR})(?![\d/]|[.-]\d)"
_NUMERIC_MONTH = rf"(?<![\d/.])(0?[1-9]|1[0-2])/({_YEAR})(?![\d/])"
_DAY_MONTH = rf"\b{_WEEK_OF}(?P<day>{_DAY})(?:\s+of)?[\s-]+(?P<month>{MONTH})(?:,?[\s-]+{_YEAR_SAID})?"
_MONTH_DAY = rf"\b{_WEEK_OF}(?P<month>{MONTH})\s+(?:the\s+)?(?P<day>{_DAY})\b(?![:.]?\d)(?:,?\s+{_YEAR_SAID})?"
_NAMED_DAY = (
    r"\b(?:(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow)|yesterday|today|tonight|tomorrow|last\s+night"
    r"|this\s+(?:morning|afternoon|evening))\b"
)
_DISTANCE = rf"(?:(?P<few>{_FEW})|(?P<count>{_COUNT}))\s+{_UNIT}"
_AGO = (
    rf"\b(?P<about>{_ABOUT}|(?:almost|nearly|over|more\s+than)\s+)?{_DISTANCE}\s+"
    r"(?:ago|back|earlier|(?P<ahead>from\s+(?:now|today)))\b(?P<so>\s+or\s+so\b)?"
)
_DECADE = rf"(?:(?P<decade>\d0|{'|'.join(_TENS)})(?:(?<=0)['’]?s)?(?<![0-9])\b)"
_CENTURY_DECADE = r"(?P<decade>(?:1[5-9]|20)\d0)['’]?s\b"
_QUARTER = (
    rf"\b(?:Q(?P<number>[1-4])|(?:the\s+)?(?P<word>{'|'.join(_ORDINALS)})\s+quarter)\b"
    rf"(?:\s+(?:of\s+)?{_YEAR_SAID})?"
)
_SEASON = rf"(?P<season>{'|'.join(_SEASONS)})\b"
_HOLIDAY = (
    r"(?P<name>new\s+year['’]s\s+eve|new\s+year(?:['’]?s)?(?:\s+day)?|valentine['’]?s?(?:\s+day)?|halloween"
    r"|thanksgiving|christmas(?:\s+(?:eve|day))?|boxing\s+day|good\s+friday|black\s+friday|shrove\s+tuesday|ash\s+wednesday|palm\s+sunday|maundy\s+thursday"
    r"|whit\s+(?:sunday|monday)|easter(?:\s+(?:sunday|monday))?)\b(?!['’])"
)
_THEN = r"\b(?:at|on|in|over|during|around|for|by|until|since|before|after)\s+"

_DIGITS = "0 1 2 3 4 5 6 7 8 9"
_MONTH_HINTS = " ".join(_MONTH_NUMBER)
_UNITS = "day week month year decade"
_SEASON_HINTS = " ".join(_SEASONS)
_HOLIDAY_HINTS = (
    "year valentine halloween thanksgiving christmas boxing friday easter tuesday wednesday sunday thursday monday"
)

ENGLISH = (
    date_rule(_ISO_DAY, lambda m, _: day_span(date(int(m[1]), int(m[3]), int(m[4]))), _DIGITS),
    date_rule(_ISO_MONTH, lambda m, _: month_span(int(m[1]), int(m[2])), _DIGITS),
    date_rule(_NUMERIC, _numeric, _DIGITS),
    date_rule(_NUMERIC_MONTH, lambda m, _: month_span(int(m[2]), int(m[1])), _DIGITS),
    date_rule(_DAY_MONTH, _calendar_day, _DIGITS),
    date_rule(_MONTH_DAY, _calendar_day, _DIGITS),
    date_rule(rf"\bon\s+(?P<mention>the\s+(?P<day>\d{{1,2}}(?:st|nd|rd|th))){_NO_NOUN}", _day_of_month, _DIGITS),
    date_rule(rf"\b(?:{_PART})?(?P<month>{MONTH}),?(?:\s+of)?\s+{_YEAR_SAID}", _month_of_year, _DIGITS),
    date_rule(rf"{_AFTER}(?:the\s+year\s+)?(?P<mention>(?P<year>{_YEAR}))\b(?![-/.,]\d)", _year, _DIGITS),
    date_rule(rf"\b{_PART}(?P<year>{_YEAR})\b(?![-/.,]\d)", _year, _DIGITS),
    date_rule(rf"\b(?P<about>{_ABOUT})(?P<year>{_YEAR})\b(?![-/.,]\d)", _year, _DIGITS),
    date_rule(rf"\bbetween\s+(?P<year>{_YEAR})\s+and\s+(?P<until>{_YEAR})\b", _year, _DIGITS),
    date_rule(rf"{_AFTER}(?P<mention>(?:{_PART})?['’‘](?P<year>\d\d))\b(?!['’]?s)", _year, _DIGITS),
    date_rule(rf"(?:\bthe\s+)?(?:\b{_PART})?\b{_CENTURY_DECADE}", _decade, _DIGITS),
    date_rule(rf"\bthe\s+(?:{_PART})?['’‘]?{_DECADE}", _decade, f"{_DIGITS} {' '.join(_TENS)}"),
    date_rule(_QUARTER, _quarter, "q1 q2 q3 q4 quarter"),
    date_rule(rf"\b(?:the\s+)?{_SEASON}(?:,|\s+of)?\s+{_YEAR_SAID}", _season, _SEASON_HINTS),
    date_rule(rf"\b{_TURNS}\s+{_SEASON}", _season, _SEASON_HINTS),
    date_rule(rf"{_THEN}(?P<mention>(?:the\s+)?{_SEASON})", _season, _SEASON_HINTS),
    date_rule(rf"\b{_HOLIDAY},?(?:\s+(?:of|in))?\s+{_YEAR_SAID}", _holiday, _HOLIDAY_HINTS),
    date_rule(rf"\b{_TURNS}\s+{_HOLIDAY}", _holiday, _HOLIDAY_HINTS),
    date_rule(rf"{_THEN}(?P<mention>{_HOLIDAY})", _holiday, _HOLIDAY_HINTS),
    date_rule(rf"{_AFTER}(?P<mention>(?:{_PART})?(?P<month>{MONTH}))", _month_alone, _MONTH_HINTS),
    date_rule(rf"\b{_PART}(?P<month>{MONTH})", _month_alone, _MONTH_HINTS),
    date_rule(rf"\b{_TURNS}\s+(?P<month>{MONTH})(?!\s+\d)", _relative_month, _MONTH_HINTS),
    date_rule(_NAMED_DAY, _named_day, "day night morrow morning afternoon evening"),
    date_rule(rf"\b(?:{_WHICH}\s+)?(?P<day>{_WDAY})\b", _weekday, "day"),
    date_rule(rf"\b{_WHICH}\s+(?P<unit>week|month|year|weekend)\b", _relative_unit, _UNITS),
    date_rule(rf"{_THEN}(?P<mention>the\s+weekend)\b", _weekend, "weekend"),
    date_rule(_AGO, _distance, _UNITS),
    date_rule(rf"\b(?P<ahead>in)\s+{_DISTANCE}(?:'s?\s+time)?\b", _distance, _UNITS),
    date_rule(rf"\b(?:the\s+)?(?:past|last)\s+{_DISTANCE}\b", _past_period, _UNITS),
)
