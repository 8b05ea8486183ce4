"""When a statement began to hold and when it ended, by the dates of its sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time

from nscma_torch.text.dates import find_dates

_UNTIL = re.compile(r"\b(?:until|till|by|before)\s+(?:the\s+)?$", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|from|as of|starting(?: in| on)?)\s+$", re.IGNORECASE)


def times_of(
    text: str, within: Sequence[str], said: datetime, *, past: bool
) -> tuple[datetime | None, datetime | None]:
    """When a statement began to hold and when it ended, by the dates in `text` that are not `within` its objects."""
    begins = ends = None
    for mention in find_dates(text, said):
        if any(text[mention.start : mention.end] in phrase for phrase in within):
            continue
        before = text[: mention.start]
        if _UNTIL.search(before):
            ends = ends or _instant(mention.first_day, said)
        elif mention.first_day <= said.date() and (not past or _SINCE.search(before)):
            begins = begins or _instant(mention.first_day, said)
    return (begins if begins and begins <= said else None), ends if past or (ends and ends <= said) else None


def _instant(day: date, said: datetime) -> datetime:
    return datetime.combine(day, time(), tzinfo=said.tzinfo or UTC)
