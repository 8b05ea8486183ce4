"""Give local times in an export their zone."""

from __future__ import annotations

from datetime import datetime, tzinfo

from nscma_torch.core.errors import TimestampError
from nscma_torch.text.calendar.timestamps import parse_timestamp


def in_zone(value: object, zone: tzinfo) -> tuple[datetime | None, tuple[str, ...]]:
    """Return an ISO 8601 time, which is in `zone` if it names none, and the problem if it isn't a time."""
    try:
        when = parse_timestamp(value)
    except TimestampError as error:
        return None, (str(error),)
    if isinstance(value, str) and (written := datetime.fromisoformat(value.strip())).tzinfo is None:
        return parse_timestamp(written.replace(tzinfo=zone)), ()
    return when, ()
