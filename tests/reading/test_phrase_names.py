"""The names of noun phrases."""

from __future__ import annotations

import pytest

from nscma_torch.reading.phrase_names import name_of


@pytest.mark.parametrize(
    ("phrase", "name"),
    [
        ("I", "Ana"),
        ("ourselves", "Ana"),
        ("you", "Ben"),
        ("my sister", "Ana's sister"),
        ("your late uncle", "Ben's uncle"),
        ("my older brother Max", "Max"),
        ("our boss, Dr. Okafor", "Dr. Okafor"),
        ("a big dog called Rex", "Rex"),
        ("Ben's car", "Ben's car"),
        ("mum", "Ana's mum"),
        ("the two canoes", "two canoes"),
        ("one of the canoes", "one of the canoes"),
        ("New Yorker", "New Yorker"),
        ("it", ""),
        ("they", ""),
        ("their house", ""),
        ("her house", ""),
        ("我们", "Ana"),
        ("你的车", "Ben's 车"),
        ("我妹妹", "Ana's 妹妹"),
        ("", ""),
    ],
)
def test_a_phrase_is_named_by_who_speaks_to_whom(phrase: str, name: str) -> None:
    assert name_of(phrase, "Ana", "Ben") == name


def test_a_person_spoken_of_lends_the_name_to_pronouns() -> None:
    assert name_of("she", "Ana", "Ben", person="Cleo") == "Cleo"
    assert name_of("her house", "Ana", "Ben", person="Cleo") == "Cleo's house"
