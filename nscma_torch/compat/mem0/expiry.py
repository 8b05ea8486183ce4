"""mem0's expiration date, a day in UTC that is included, as the moment at which a message expires here."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from nscma_torch.core.errors import TimestampError


def day_of(value: object) -> date | None:
    """The day that a caller names: a date, a datetime, "YYYY-MM-DD", or None. Raises `TimestampError` otherwise."""
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
    """Return when a memory valid through a day expires: the start of the next day in UTC."""
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)


def last_day(expires_at: datetime | None) -> str | None:
    """The last day of what expires at a moment, as "YYYY-MM-DD"."""
    return None if expires_at is None else (expires_at - timedelta(microseconds=1)).date().isoformat()
