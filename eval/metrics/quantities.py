"""The quantities that a text names: numbers, clock times and number words, in one spelling."""

from __future__ import annotations

import re

from nscma_torch.text.number_words import TO_TWENTY

_TENS = "thirty forty fifty sixty seventy eighty ninety"
_VALUE = {word: i for i, word in enumerate(TO_TWENTY)} | {word: 10 * i for i, word in enumerate(_TENS.split(), 3)}
_QUANTITY = re.compile(
    r"\d{1,2}:\d\d|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\b(?:" + "|".join(_VALUE) + r")\b", re.IGNORECASE
)


def quantities(text: str) -> frozenset[str]:
    """Every quantity as digits: "1,200" and "1200", "3.50" and "3.5", "Five" and "5" are the same; 4:30 is a time."""
    return frozenset(map(_spelled, _QUANTITY.findall(text)))


def _spelled(found: str) -> str:
    if found.lower() in _VALUE:
        return str(_VALUE[found.lower()])
    if ":" in found:
        hour, minute = found.split(":")
        return str(int(hour)) if minute == "00" else f"{int(hour)}:{minute}"
    number = found.replace(",", "")
    whole, _, part = number.partition(".")
    part = part.rstrip("0")
    return f"{int(whole)}.{part}" if part else str(int(whole))
