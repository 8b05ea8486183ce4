"""Between aware datetimes and the store's integer microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_micros(moment: datetime) -> int:
    """Microseconds since the epoch; a naive datetime is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """Aware datetime in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def optional_micros(moment: datetime | None) -> int | None:
    """`to_micros`, or None."""
    return None if moment is None else to_micros(moment)


def optional_from_micros(micros: int | None) -> datetime | None:
    """`from_micros`, or None."""
    return None if micros is None else from_micros(micros)
