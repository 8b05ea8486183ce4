"""Find card numbers (ISO/IEC 7812) and IBANs (ISO 13616) by their form and check digits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nscma_torch.redaction.redactor import Found

_DIGITS = re.compile(r"(?<![\w.,-])\d(?:[ -]?\d){11,18}(?![\w-])(?![.,]\d)")
# Ranges of the first digits, and lengths: American Express, Diners Club, Discover, JCB, Mastercard, UnionPay, Visa.
_ISSUERS: tuple[tuple[str, str, frozenset[int]], ...] = (
    ("34", "34", frozenset({15})),
    ("37", "37", frozenset({15})),
    ("300", "305", frozenset({14})),
    ("36", "36", frozenset({14})),
    ("38", "39", frozenset({14})),
    ("6011", "6011", frozenset({16, 19})),
    ("644", "659", frozenset({16, 19})),
    ("3528", "3589", frozenset({16, 19})),
    ("51", "55", frozenset({16})),
    ("2221", "2720", frozenset({16})),
    ("62", "62", frozenset(range(16, 20))),
    ("4", "4", frozenset({13, 16, 19})),
)
_IBAN = re.compile(r"(?<![\w-])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}")
# Lengths of IBANs by country, from the SWIFT registry.
_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FO GL NL SD",
        19: "MK SI",
        20: "AT BA EE KZ LT LU MN XK",
        21: "CH CR HR LI LV",
        22: "BG BH DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for country in countries.split()
}


def cards(text: str) -> Iterator[Found]:
    """Yield numbers with the first digits and the length of an issuer and a right check digit (Luhn)."""
    for match in _DIGITS.finditer(text):
        digits = re.sub("[ -]", "", match[0])
        if _issued(digits) and _luhn(digits):
            yield Found(match.start(), match.end(), "card")


def ibans(text: str) -> Iterator[Found]:
    """Yield account numbers with their country's length and right check digits."""
    for match in _IBAN.finditer(text):
        length = _LENGTHS.get(match[0][:2], 0)
        places = [place for place, character in enumerate(match[0]) if character != " "]
        if not length or len(places) < length:
            continue
        end = places[length - 1] + 1
        if match[0][end : end + 1].strip():  # it goes on
            continue
        number = match[0][:end].replace(" ", "")
        if int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97 == 1:
            yield Found(match.start(), match.start() + end, "iban")


def _issued(digits: str) -> bool:
    return any(first <= digits[: len(first)] <= last and len(digits) in lengths for first, last, lengths in _ISSUERS)


def _luhn(digits: str) -> bool:
    total = sum(int(digit) for digit in digits[-1::-2])
    return (total + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10 == 0
