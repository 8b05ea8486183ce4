"""Resolve relative dates in texts."""

from __future__ import annotations

import re
from datetime import datetime

from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.calendar.timestamps import format_days

_RELATIVE = re.compile(
    r"\b(?:last|past|previous|this|next|coming|ago|back|earlier|yesterday|today|tonight|tomorrow)\b"
    r"|[上下前后後昨今明去这這本]",
    re.IGNORECASE,
)


_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|[周週]|星期|礼拜|禮拜", re.IGNORECASE)


def with_day(phrase: str, text: str, said: datetime) -> str:
    """Add the date to a phrase that is a relative date or weekday in the text: "Tuesday [14 July 2026]"."""
    for mention in find_dates(text, said):
        words = text[mention.start : mention.end]
        if words in phrase and (_RELATIVE.search(words) or _WEEKDAY.search(words)):
            return f"{phrase} [{format_days(mention.first_day, mention.last_day)}]"
    return phrase


def resolved(text: str, said: datetime) -> str:
    """Add the dates to relative dates in a text: "last Saturday [11 July 2026]".

    A bare weekday or month is unchanged, as it may be in the past or in the future.
    """
    out, end = [], 0
    for mention in find_dates(text, said):
        if _RELATIVE.search(text[mention.start : mention.end]):
            out.append(f"{text[end : mention.end]} [{format_days(mention.first_day, mention.last_day)}]")
            end = mention.end
    return "".join(out) + text[end:]
