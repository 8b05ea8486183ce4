"""Convert between mem0's expiration date, an inclusive day in UTC, and a message's expiration time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from nscma_torch.core.errors import TimestampError


def day_of(value: object) -> date | None:
    """Parse a day: a date, a datetime, "YYYY-MM-DD", or None. Raises `TimestampError` otherwise."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        raise TimestampError("expiration_date must be a date string in YYYY-MM-DD format.")
    try:
        return date.fromisoformat(value)
    except ValueError as error:
        raise TimestampError("expiration_date must be a valid date in YYYY-MM-DD format.") from error


def end_of(day: date | None) -> datetime | None:
    """Return the time at which a memory that is valid through a day expires: the start of the next day in UTC."""
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)


def last_day(expires_at: datetime | None) -> str | None:
    """Return the last valid day before an expiration time, as "YYYY-MM-DD"."""
    return None if expires_at is None else (expires_at - timedelta(microseconds=1)).date().isoformat()
