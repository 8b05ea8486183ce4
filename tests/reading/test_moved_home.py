"""Who moved to a named place lives there; a room is no home."""

from __future__ import annotations

import pytest

from nscma_torch.core.records import Statement
from nscma_torch.reading.moved_home import with_new_homes
from nscma_torch.reading.relations import load_relations

SCHEMA = load_relations()


def relations(text: str, subject: str, place: str, *, negated: bool = False) -> list[str]:
    stated = Statement(subject=subject, relation="located_in", object=place, negated=negated, start=0, end=len(text))
    return [one.relation for one in with_new_homes([stated], text, SCHEMA)]


@pytest.mark.parametrize(
    ("text", "subject", "place"),
    [
        ("Ines moved to Lagos.", "Ines", "Lagos"),
        ("My uncle relocated from Ghent to Namur last year.", "user's uncle", "Namur"),
        ("Teddy has moved back to Sopot", "Teddy", "Sopot"),
    ],
)
def test_a_person_lives_in_the_named_place_they_moved_to(text: str, subject: str, place: str) -> None:
    assert relations(text, subject, place) == ["located_in", "lives_in"]


@pytest.mark.parametrize(
    ("text", "subject", "place"),
    [
        ("Mary moved to the kitchen.", "Mary", "kitchen"),
        ("Mary moved to the Garden.", "Mary", "Garden"),
        ("Mary moved to Room 12.", "Mary", "Room 12"),
        ("Mary went to Paris.", "Mary", "Paris"),
        ("Mary moved the piano, then she flew to Paris.", "Mary", "Paris"),
        ("The keys moved to Berlin.", "keys", "Berlin"),
    ],
)
def test_no_other_whereabouts_are_a_home(text: str, subject: str, place: str) -> None:
    assert relations(text, subject, place) == ["located_in"]


def test_a_denied_move_is_none() -> None:
    assert relations("Ines never moved to Lagos.", "Ines", "Lagos", negated=True) == ["located_in"]
