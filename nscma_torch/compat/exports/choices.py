"""Choices about an export that its files may not tell: the owner, the time zone, the order of dates."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from nscma_torch.core.errors import InvalidInputError

DATE_ORDERS = ("day-first", "month-first")


@dataclass(frozen=True, slots=True)
class Choices:
    """`me` contains the owner's names; `zone` is the zone of times without one; `day_first` is None if it is to be
    found out.
    """

    me: tuple[str, ...] = ()
    zone: tzinfo = UTC
    day_first: bool | None = None


def choices(kind: str, taken: Collection[str], *, me: Collection[str], zone: str | None, dates: str | None) -> Choices:
    """Check the options given for an export. `taken` contains the names of those that apply to its kind.

    Raises `InvalidInputError` for an option that doesn't apply, an unknown time zone or order of dates.
    """
    for name, value in (("me", me), ("zone", zone), ("dates", dates)):
        if value and name not in taken:
            raise InvalidInputError(f"--{name} does not apply to exports of {kind}; omit it")
    if dates and dates not in DATE_ORDERS:
        raise InvalidInputError(f"--dates is {' or '.join(DATE_ORDERS)}, not {dates!r}")
    return Choices(tuple(me), UTC if not zone else _zone(zone), None if not dates else dates == DATE_ORDERS[0])


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInputError(f"{name!r} is not a time zone; name one like 'Europe/Berlin'") from error
