"""Find dates in a text ("12 May 2023", "last Saturday", 三天前), resolved relative to the day it was said.

The rules are our own because the maintained library for this (dateparser) takes milliseconds per text, adds four
packages, and finds dates in words such as "on". Ambiguous expressions are interpreted as follows:

- a date without a year, and a bare weekday, is the latest one that has begun where its clause looks back ("I saw her
  on Monday"), and the next one where it looks ahead ("I see the dentist on Monday"); if no verb tells, a date is the
  one nearest to the anchor, and a weekday the latest one up to the anchor's day;
- "last Saturday" is the latest one before that day, "this" the next one from that day, "next" the one in next week;
- 上周六 and 下周六 count calendar weeks, which begin on Monday; 周六 is the next one unless its clause has 了 or 过;
- an expression is as wide as its unit: "two weeks ago" is a calendar week, "last month" a month, "in 2022" a year;
- "around 2015" is a year wider on both sides; "early", "mid" and "late" are thirds of a month, year or decade;
- seasons are those of the northern hemisphere, in whole months; winter begins in December;
- a weekday, or another expression without a year of its own, that a year follows means that year; a
  weekday or season right before a date in digits belongs to it ("Friday, 12 May 2023");
- of an all-numeric date whose day and month can be confused, the days between its two readings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from nscma_torch.text.calendar.chinese_dates import CHINESE
from nscma_torch.text.calendar.english_dates import ENGLISH, MONTH, names_part_of, with_year

__all__ = ["MONTH", "DateMention", "find_dates"]


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date expression at `text[start:end]` that denotes the days from `first_day` to `last_day`, inclusive."""

    start: int
    end: int
    first_day: date
    last_day: date

    def instants(self, zone: tzinfo | None = None) -> tuple[datetime, datetime]:
        """Return the first instant of these days and the first instant after them in a time zone, neither after the
        year 9999.
        """
        end = datetime.max if self.last_day == date.max else datetime.combine(self.last_day + timedelta(1), time())
        return datetime.combine(self.first_day, time(), zone or UTC), end.replace(tzinfo=zone or UTC)


def find_dates(text: str, anchor: datetime) -> list[DateMention]:
    """Return the date expressions in an English or Chinese text, in order and without overlaps; the longest match wins.

    `anchor` is when the text was said; its time zone determines the day. Impossible dates (31 February) and dates
    outside the years 1 to 9999 are skipped.
    """
    today = anchor.date()
    found: list[DateMention] = []
    lowered = text.lower()
    for pattern, resolve, hints in (*ENGLISH, *CHINESE):
        if not any(hint in lowered for hint in hints):
            continue
        for match in pattern.finditer(text):
            try:
                days = resolve(match, today)
            except (ValueError, OverflowError):  # `date` rejects impossible dates
                continue
            if days is not None:
                start, end = match.span("mention" if "mention" in pattern.groupindex else 0)
                if "year" not in pattern.groupindex:
                    end, days = with_year(text, start, end, days, today)
                found.append(DateMention(start, end, *days))
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[DateMention] = []
    for mention in found:
        last = kept[-1] if kept else None
        if last and names_part_of(text, (last.start, last.end), (mention.start, mention.end)):
            kept[-1] = replace(mention, start=last.start)
        elif last is None or mention.start >= last.end:
            kept.append(mention)
    return kept
