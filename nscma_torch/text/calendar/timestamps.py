"""Parse timestamps from callers and files, and format times for display."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Literal

from nscma_torch.core.errors import TimestampError

# Own tables: `calendar` and `strftime` follow the locale, and the same input must give the same store everywhere.
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_EARLIEST = datetime(1, 1, 2, tzinfo=UTC).timestamp()  # a day inside what datetime holds, so that any zone can show it
_LATEST = datetime(9999, 12, 30, tzinfo=UTC).timestamp()


def parse_timestamp(value: object) -> datetime:
    """Parse an ISO 8601 string (UTC if it has no zone), epoch seconds, a datetime, or a date (its first instant).

    The result keeps the zone's offset, which determines which day "yesterday" is.

    Raises `TimestampError`, with the reason, for anything else. Future times are accepted here.
    """
    if isinstance(value, datetime):
        return _in_range(value, value)
    if isinstance(value, date):
        return _in_range(datetime(value.year, value.month, value.day, tzinfo=UTC), value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_epoch(value)
    if isinstance(value, str):
        try:
            parsed = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise TimestampError(
                f"{value[:80]!r} is not a time; use ISO 8601 ('2026-05-12T14:30:00Z'), or epoch seconds as a "
                "number in JSON and Python"
            ) from error
        return _in_range(parsed, value)
    raise TimestampError(
        f"a time must be an ISO 8601 string or epoch seconds, got {type(value).__name__} {str(value)[:80]!r}"
    )


def format_day(day: date) -> str:
    """Format a day for display: "12 May 2023"."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def format_days(first: date, last: date) -> str:
    """Format an inclusive range of days for display: as a day, month or year, or as a range such as "2014 to 2016".

    If the two days differ only in day-month order, they are the two readings of a numeric date and are shown as
    alternatives.
    """
    if are_two_readings(first, last):
        return f"{first.day} {MONTHS[first.month - 1]} or {format_day(last)}"
    unit = whole(first, last)
    if unit == "year":
        ends = [str(day.year) for day in (first, last)]
    elif unit == "month":
        ends = [f"{MONTHS[day.month - 1]} {day.year}" for day in (first, last)]
    else:
        ends = [format_day(day) for day in (first, last)]
    return " to ".join(dict.fromkeys(ends))


def are_two_readings(first: date, last: date) -> bool:
    """Return True if two days differ only in day-month order, such as 11 September and 9 November."""
    return first < last and last.timetuple()[:3] == (first.year, first.day, first.month)


def whole(first: date, last: date) -> Literal["year", "month", ""]:
    """Return the calendar unit that an inclusive range of days covers, or mostly covers, one or more times; "" if
    none."""
    if first.year == last.year and (last - first).days > 300:
        return "year"
    if first.day > 1 or first == last:
        return ""
    if (first.month, last.month, last.day) == (1, 12, 31):
        return "year"
    most_of_one = (first.year, first.month) == (last.year, last.month) and last.day > 20
    return "month" if most_of_one or (last + timedelta(days=1)).day == 1 else ""


def format_time(when: datetime) -> str:
    """Format a time for display in its own zone: "12 May 2023, 14:30 UTC" or "… 14:30 +09:00".

    Midnight exactly is shown as the day alone.
    """
    zone = when.isoformat(timespec="minutes")[16:] if when.utcoffset() else "UTC"
    clock = "" if (when.hour, when.minute, when.second) == (0, 0, 0) else f", {when.hour:02}:{when.minute:02} {zone}"
    return format_day(when.date()) + clock


def _from_epoch(value: float) -> datetime:
    try:
        seconds = float(value)
    except OverflowError:  # an integer of more than 308 digits
        seconds = math.inf
    if not math.isfinite(seconds):
        raise TimestampError(f"epoch seconds must be finite, got {seconds}")
    if not _EARLIEST <= seconds <= _LATEST:
        hint = "; it looks like milliseconds: divide it by 1000" if 1e11 < seconds < 1e14 else ""
        raise TimestampError(f"epoch seconds {seconds:g} lie outside the years 1 to 9999{hint}")
    return datetime.fromtimestamp(seconds, UTC)


def _in_range(when: datetime, value: object) -> datetime:
    aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    if not _EARLIEST <= aware.timestamp() <= _LATEST:
        raise TimestampError(f"{str(value)[:80]!r} lies outside the years 1 to 9999")
    offset = aware.utcoffset()
    return aware.astimezone(timezone(offset) if offset else UTC)
