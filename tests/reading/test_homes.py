"""Names of one home, and of places that many live in."""

from __future__ import annotations

import pytest

from nscma_torch.reading.homes import names_one_home

HOMES = (
    "apartment 4B|flat 3|Flat 12, Elm Road|house no. 7|room #12 in Ghent|unit B2|apartment C|Carol's old house"
    "|Hill House|Villa Rosa|12 Baker Street|221B Baker Street|303室|3号公寓|幸福路3号302室"
)
NO_HOMES = (
    "Lisbon|Elm Street|small flat|house|house in Ghent|flat in Lyon|District 9|New York|北京|阳光公寓|London 2012"
)


@pytest.mark.parametrize("place", HOMES.split("|"))
def test_a_number_a_name_or_an_owner_names_one_home(place: str) -> None:
    assert names_one_home(place)


@pytest.mark.parametrize("place", NO_HOMES.split("|"))
def test_towns_streets_and_any_flat_are_no_one_home(place: str) -> None:
    assert not names_one_home(place)
