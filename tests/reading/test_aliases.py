"""Names that a text says to be another's."""

from __future__ import annotations

import pytest

from nscma_torch.reading.aliases import aliases
from nscma_torch.reading.phrase_names import name_of

CASES = """
My friend Robert, aka Bob, lives in Kyiv. | Robert = Bob
My wife Elizabeth, we call her Lizzie, works at Nokia. | Elizabeth = Lizzie
My wife Elizabeth works at Nokia. Everyone calls her Liz. | Elizabeth = Liz
Bob is short for Robert. | Robert = Bob
Nell, short for Eleanor, called. | Eleanor = Nell
William, also known as Bill, left. | William = Bill
Robert "Bob" Smith came. | Robert = Bob
My sister Elizabeth (Liz) is 30. | Elizabeth = Liz
Alexander, who goes by Sasha, is here. | Alexander = Sasha
My cousin Eleanor is nice. Her nickname is Nell. | Eleanor = Nell
My brother Robert prefers to be called Rob. | Robert = Rob
My daughter Katarzyna (Kasia) works at Allegro. | Katarzyna = Kasia
My brother Aleksander (Alek) is 9. | Aleksander = Alek
My friend Ana (Porto) called. |
I call Tom every day. |
They call Anna on Monday. |
I love the film "Alien". |
"""


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_an_alias_is_stated_as_a_name(case: str) -> None:
    text, _, names = case.partition(" |")
    told = aliases(text)
    assert [f"{one.subject} = {one.object}" for one in told] == [names.strip()] * bool(names.strip())
    assert all(one.relation == "named" for one in told)


def test_a_name_ends_before_what_is_said_of_it() -> None:
    assert name_of("Elizabeth, we call her Lizzie", "user", "") == "Elizabeth"


@pytest.mark.parametrize(
    ("phrase", "name"),
    [("My daughter Katarzyna (Kasia)", "Katarzyna"), ("my sister (Ana)", "Ana"), ("Katarzyna (Kasia)", "Katarzyna")],
)
def test_a_bracketed_name_is_an_alias_or_names_a_role(phrase: str, name: str) -> None:
    assert name_of(phrase, "user", "") == name
