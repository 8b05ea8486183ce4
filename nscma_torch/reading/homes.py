"""Distinguish the name of a single home ("apartment 4B", "12 Baker Street") from a town, a street or "a flat".

Two people who live at "12 Baker Street" share a home; two people who both live in Lisbon, or in "a small flat", don't.
"""

from __future__ import annotations

import re

from nscma_torch.text.number_words import HAN_NUMERALS

_NOUN = r"(?:flat|apartment|apt\.?|house|cottage|villa|condo|studio|bungalow|penthouse|loft|room|unit|suite)"
_HOME = re.compile(
    rf"\b(?i:{_NOUN}\s(?:no\.?\s|number\s|\#\s?)?(?:\d{{1,5}}[a-z]?|[a-z]-?\d{{1,4}}))(?![\w-])"  # flat 3, room #12
    rf"|\b(?i:{_NOUN})\s[A-Z](?!\w)"  # apartment B
    rf"|\w['’]s?\s(?:[a-z]+\s)?(?i:{_NOUN})$"  # Carol's old house
    r"|\b[A-Z][\w'’-]*\s(?:Flat|House|Cottage|Villa|Bungalow)$|^(?:Villa|Casa|Haus)\s[A-Z]"  # Hill House
    r"|^\d{1,5}[a-zA-Z]?,?\s[A-Z][\w'’.-]+\s[A-Z]"  # 12 Baker Street
    rf"|[0-9{HAN_NUMERALS}]号?(?:房间?|室|公寓|宿舍|房子)$"  # 幸福路3号302室
)


def names_one_home(place: str) -> bool:
    """Return True if `place` names a single home: a home with a number, name or owner, or a street address."""
    return _HOME.search(" ".join(place.split())) is not None
