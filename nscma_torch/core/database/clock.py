"""Convert between aware datetimes and the store's integer microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_micros(moment: datetime) -> int:
    """Convert a datetime to microseconds since the epoch; a naive datetime is interpreted as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int, utc_offset: int | None = None) -> datetime:
    """Convert microseconds to an aware datetime, in UTC or at an offset given in seconds."""
    moment = _EPOCH + timedelta(microseconds=micros)
    return moment.astimezone(timezone(timedelta(seconds=utc_offset))) if utc_offset else moment


def utc_offset(moment: datetime | None) -> int | None:
    """Return a time's offset from UTC in seconds; None if it is in UTC or the time is None."""
    offset = moment.utcoffset() if moment is not None else None
    return int(offset.total_seconds()) if offset else None


def optional_micros(moment: datetime | None) -> int | None:
    """Apply `to_micros`; None stays None."""
    return None if moment is None else to_micros(moment)


def optional_from_micros(micros: int | None, utc_offset: int | None = None) -> datetime | None:
    """Apply `from_micros`; None stays None."""
    return None if micros is None else from_micros(micros, utc_offset)
