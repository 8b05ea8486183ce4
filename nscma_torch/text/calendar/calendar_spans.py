"""Spans of days: a day, week, month or year, and the span nearest to a given day."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from nscma_torch.text.calendar.tense import Direction

DaySpan = tuple[date, date]  # first and last day, both included
Resolver = Callable[[re.Match[str], date], DaySpan | None]
VAGUE = (2, 5)  # "a few days ago", 几天前: from two to five units


class DateRule(NamedTuple):
    """A date pattern, a function that resolves it, and lower-case hints: the pattern is tried only if a hint occurs in
    the text.

    If the pattern also matches text before the expression, its group named `mention` is the expression itself.
    """

    pattern: re.Pattern[str]
    resolve: Resolver
    hints: tuple[str, ...]


def date_rule(pattern: str, resolve: Resolver, hints: str) -> DateRule:
    """Compile a rule from a pattern; `hints` are separated by spaces."""
    return DateRule(re.compile(pattern, re.IGNORECASE), resolve, tuple(hints.split()))


def month_span(year: int, month: int) -> DaySpan:
    """Return the span of a month."""
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def shifted_month(today: date, months: int) -> DaySpan:
    """Return the month that is `months` months after today's month."""
    return months_span(today.year, today.month + months)


def months_span(year: int, month: int, count: int = 1) -> DaySpan:
    """Return the span of `count` months that starts with the given month; `month` may be outside 1 to 12."""
    first, last = (divmod(year * 12 + month - 1 + more, 12) for more in (0, count - 1))
    return month_span(first[0], first[1] + 1)[0], month_span(last[0], last[1] + 1)[1]


def year_span(year: int) -> DaySpan:
    """Return the span of a year."""
    return date(year, 1, 1), date(year, 12, 31)


def week_span(today: date, weeks: int) -> DaySpan:
    """Return the week, starting on Monday, that is `weeks` weeks after today's week."""
    monday = today + timedelta(days=7 * weeks - today.weekday())
    return monday, monday + timedelta(days=6)


def day_span(day: date) -> DaySpan:
    """Return the span of one day."""
    return day, day


def joined(*spans: DaySpan) -> DaySpan:
    """Return the span from the earliest to the latest day in several spans."""
    return min(span[0] for span in spans), max(span[1] for span in spans)


def shift(today: date, unit: str, count: int) -> DaySpan:
    """Return the day, week, month or year that is `count` units after today's; a decade counts as ten years."""
    if unit == "day":
        return day_span(today + timedelta(days=count))
    if unit == "week":
        return week_span(today, count)
    if unit == "month":
        return shifted_month(today, count)
    return year_span(today.year + count * (10 if unit == "decade" else 1))


def third(span: DaySpan, part: str) -> DaySpan:
    """Return the early, mid or late third of a month, year or decade; in a month, these are 10, 10 and the remaining
    days."""
    first, last = span
    if (last - first).days < 31:
        bounds = {"early": (1, 10), "mid": (11, 20), "late": (21, last.day)}[part]
        return first.replace(day=bounds[0]), first.replace(day=bounds[1])
    years = last.year - first.year + 1
    if years == 1:
        return months_span(first.year, {"early": 1, "mid": 5, "late": 9}[part], 4)
    begin, end = {"early": (0, 3), "mid": (3, 6), "late": (6, 9)}[part]
    return date(first.year + begin, 1, 1), date(first.year + end, 12, 31)


def nearest(days_of: Callable[[int], DaySpan], today: date, direction: Direction = 0) -> DaySpan:
    """Return the span in a direction that is nearest to today, from the spans in the years around it; the earlier on a
    tie.

    Raises `ValueError` if there is none, which can happen at the ends of the calendar.
    """
    spans = []
    for year in range(today.year - 4, today.year + 5):
        try:
            span = days_of(year)
        except ValueError:  # 29 February, or the end of the calendar
            continue
        if (direction <= 0 or span[1] >= today) and (direction >= 0 or span[0] <= today):
            spans.append(span)
    return min(spans, key=lambda span: max(span[0] - today, today - span[1], timedelta(0)))


def easter(year: int) -> date:
    """Return Easter Sunday in the Gregorian calendar (Meeus, Jones and Butcher)."""
    century, rest = divmod(year, 100)
    moon = (19 * (year % 19) + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
    moon -= (year % 19 + 11 * moon) // 319
    weekday = (2 * (century % 4) + 2 * (rest // 4) - rest % 4 - moon + 32) % 7
    month = (moon + weekday + 90) // 25
    return date(year, month, (moon + weekday + month + 19) % 32)


def later_day(day: date, unit: str, count: int) -> date:
    """Return the day that is some days, weeks, months or years later; the last of a month that has no such day."""
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    first, last = shifted_month(day, count * (12 if unit == "year" else 1))
    return min(first + timedelta(days=day.day - 1), last)
