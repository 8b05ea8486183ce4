"""A value neither begins nor ends inside a token."""

from __future__ import annotations

import unicodedata

import pytest

from nscma_torch.reading.whole_tokens import whole_tokens

CASES = """
My rent is 1250.50 EUR a month. | 1250 | 1250.50 EUR
My laptop costs 1.299,00 EUR. | 1.299 | 1.299,00 EUR
It costs $1,250.50. | 1 | $1,250.50
It is CHF 1'200.50 a month. | 200.50 | CHF 1'200.50
It costs 30 euros. | 30 | 30
My password is hunter2.X9! | hunter2 | hunter2.X9!
The PIN is 4711! | 4711 | 4711
Call +32 470 12 34 56. | 32 470 12 34 56 | +32 470 12 34 56
Call +32 470 12 34 56. | 470 12 34 | +32 470 12 34 56
In 2014 I had 3 cats. | 2014 | 2014
See https://a.example/c?d=1. | a.example | https://a.example/c?d=1
Mail me at jo.doe+x@a.example, please | doe | jo.doe+x@a.example
It was on 2014-05-06. | 2014 | 2014-05-06
It is -5°C today. | 5 | -5°C
A 20-year-old son | 20 | 20
port:8080 is open | 8080 | 8080
I learn C++. | C | C++
My IBAN is DE89 3704 0044 0532 0130 00. | DE89 | DE89 3704 0044 0532 0130 00
My IBAN is GB29 NWBK 6016 1331 9268 19. | 6016 | GB29 NWBK 6016 1331 9268 19
I take B12 500 mg. | B12 | B12
The Wi-Fi password is 'blue horse_42!'. | horse_42 | blue horse_42!
The key is "open the gate 9". | open | open the gate 9
My boat is called "Blue Wren". | Wren | Blue Wren
He said "Ana is here". | Ana | Ana
My daughter Katarzyna (Kasia) works. | Katarzyna (Kasia | Katarzyna (Kasia)
I live in Bern (for now, I think. | Bern (for | Bern
I use Node.js daily. | Node | Node.js
I work at AT&T. | AT | AT&T
Mr O'Brien called. | O | O'Brien
Ana's dog | Ana | Ana
I live in Rome.I work. | Rome | Rome
我有3只猫 | 3 | 3
"""


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_a_span_is_extended_to_the_whole_value(case: str) -> None:
    text, part, whole = case.split(" | ")
    at = text.index(part)
    start, end = whole_tokens(text, at, at + len(part))
    assert text[start:end] == whole


def test_a_decomposed_accent_belongs_to_its_letter() -> None:
    text = unicodedata.normalize("NFD", "José works")
    assert whole_tokens(text, 0, 4) == (0, 5)


@pytest.mark.parametrize(
    "mark", ["\n2. Open it", "\n\n2. Open it", "EUR\n2 coats", "12 34\n2 coats", "called\n2 coats"]
)
def test_a_value_never_takes_in_the_line_break_before_it(mark: str) -> None:
    text = f"Run this first.\n{mark}"
    start = text.rindex("2")
    assert whole_tokens(text, start, start + 1) == (start, start + 1)
