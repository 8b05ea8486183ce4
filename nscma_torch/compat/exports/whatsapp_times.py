"""Times in WhatsApp chats, which follow the phone's region: the order of day and month comes from the whole file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time

from nscma_torch.core.errors import InvalidInputError, MalformedInputError

STAMP = (
    r"(?P<first>\d{1,4})(?P<by>[./-]) ?(?P<second>\d{1,2})[./-] ?(?P<third>\d{1,4})\.?,?(?: klo| kl\.| um)? "
    r"(?P<before>上午|下午|오전|오후|午前|午後)? ?(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<rest>\d{2}))?"
    r"(?: ?(?P<half>[AaPp])\.? ?[Mm]\.?)?"
)
_AFTERNOON = ("p", "下午", "오후", "午後")


@dataclass(frozen=True, slots=True)
class Stamp:
    """A date and a time as written; `second` and `third` follow the first number of the date."""

    first: int
    second: int
    third: int
    by: str
    hour: int
    minute: int
    rest: int
    half: str
    written: str
    year_first: bool

    @classmethod
    def of(cls, match: re.Match[str]) -> Stamp:
        """Return the stamp found by a pattern that contains `STAMP`, once more with its groups named `a_…`."""
        found = {name.removeprefix("a_"): value for name, value in match.groupdict().items() if value is not None}
        return cls(
            int(found["first"]),
            int(found["second"]),
            int(found["third"]),
            found["by"],
            int(found["hour"]),
            int(found["minute"]),
            int(found.get("rest", 0)),
            (found.get("half") or found.get("before") or "").lower(),
            match[0].strip(" -[]\u200e\u200f\ufeff"),
            len(found["first"]) > 2,
        )

    def day(self, day_first: bool) -> date | None:
        """Return the date, or None if there is no such day."""
        if self.year_first:
            year, month, day = self.first, self.second, self.third
        else:
            year = self.third + 2000 if self.third < 100 else self.third
            day, month = (self.first, self.second) if day_first else (self.second, self.first)
        try:
            return date(year, month, day)
        except ValueError:
            return None

    def time(self, day_first: bool) -> datetime | None:
        """Return the local time, or None if there is no such time."""
        day = self.day(day_first)
        hour = self.hour % 12 + 12 * self.half.startswith(_AFTERNOON) if self.half else self.hour
        if day is None or hour > 23 or self.minute > 59 or self.rest > 59:
            return None
        return datetime.combine(day, time(hour, self.minute, self.rest))


class DateOrder:
    """The order of day and month in the dates of a file, from all of them."""

    def __init__(self) -> None:
        self.seen = 0
        self._unclear: Stamp | None = None
        self._only: dict[bool, Stamp] = {}  # by whether the day is first: a date that can be read in this order alone
        self._dots = True
        self._last: dict[bool, date] = {}
        self._back = {True: 0, False: 0}  # by the same: steps back from one date to the next

    def see(self, stamp: Stamp) -> None:
        """Take the next date into account."""
        self.seen += 1
        if stamp.year_first:
            return
        self._dots = self._dots and stamp.by == "."
        if stamp.first != stamp.second:
            self._unclear = stamp
        days = {order: day for order in (True, False) if (day := stamp.day(order)) is not None}
        if len(days) == 1:
            (possible,) = days
            self._only.setdefault(possible, stamp)
        for order, day in days.items():
            self._back[order] += day < self._last.get(order, day)
            self._last[order] = day

    def day_first(self, name: str, chosen: bool | None) -> bool:
        """Return the order of all dates in the file `name`, or the chosen one.

        Raises `MalformedInputError` if they don't have one order, or only the one that isn't chosen, and
        `InvalidInputError` if both orders are possible and give different dates.
        """
        if chosen is not None:
            if set(self._only) == {not chosen}:
                excluded = self._only[not chosen].written
                raise MalformedInputError(f"{name} contains {excluded!r}, which --dates excludes; omit --dates")
            return chosen
        if len(self._only) > 1:
            both = " and ".join(repr(stamp.written) for stamp in self._only.values())
            raise MalformedInputError(
                f"{name} contains {both}, with the day first in one and the month in the other; pass --dates "
                "day-first or --dates month-first, which omits the others"
            )
        if self._only:
            return next(iter(self._only))
        if self._unclear is None or self._dots:
            return True
        if (self._back[True] == 0) != (self._back[False] == 0):
            return self._back[True] == 0
        raise InvalidInputError(
            f"{name} has no date that tells whether {self._unclear.written!r} begins with the day or the month; pass "
            "--dates day-first or --dates month-first"
        )
