"""Two people of one name are told apart by what their speaker calls them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Scope, Statement, Unit
from nscma_torch.extraction.namesakes import Namesakes
from nscma_torch.reading.relations import load_relations
from nscma_torch.reading.roles import same_role
from nscma_torch.semantic.store.name_mentions import Mention

SCHEMA = load_relations()
SAID = datetime(2026, 1, 5, tzinfo=UTC)


def meant(*messages: tuple[str, str], name: str = "Maria") -> list[list[str]]:
    """The subjects of a statement about `name` in each message by a speaker, and the merges beside it."""
    own = Namesakes(lambda _name, _before: [], SCHEMA)
    found = []
    for seq, (speaker, text) in enumerate(messages):
        unit = Unit(str(seq), Scope("u"), "chunk", text, (), SAID, name=speaker)
        told = own.told_apart(seq, unit, [Statement(name, "lives_in", "Lima", start=0, end=len(text))])
        found.append([one.subject if one.relation != "named" else f"{one.subject} = {one.object}" for one in told])
    return found


def by_ana(*texts: str) -> Sequence[list[str]]:
    return meant(*(("Ana", text) for text in texts))


def test_another_role_is_another_person() -> None:
    told = by_ana("My boss Maria lives in Rome.", "My cousin Maria lives in Lima.", "My boss Maria is ill.")
    assert told == [["Maria"], ["Maria (cousin)"], ["Maria"]]


def test_a_mention_without_a_role_is_of_the_one_spoken_of_last() -> None:
    told = by_ana("My boss Maria left.", "My cousin Maria called.", "Maria moved.", "My boss Maria left.", "Maria ate.")
    assert [subject for (subject,) in told] == ["Maria", "Maria (cousin)", "Maria (cousin)", "Maria", "Maria"]


def test_one_role_in_other_words_is_one_person() -> None:
    assert by_ana("My girlfriend Maria works.", "My wife Maria works.") == [["Maria"], ["Maria"]]
    assert by_ana("Maria works.", "My sister Maria works.") == [["Maria"], ["Maria"]]


def test_a_message_that_gives_both_roles_makes_them_one() -> None:
    both = "My boss Maria is my cousin."
    assert by_ana("My boss Maria works.", both) == [["Maria"], ["Maria"]]
    told = by_ana("My boss Maria works.", "My cousin Maria works.", both)
    assert told[-1] == ["Maria", "Maria = Maria (cousin)"]


def test_roles_of_different_speakers_do_not_tell_people_apart() -> None:
    assert meant(("Ana", "My boss Maria works."), ("Ben", "My cousin Maria works.")) == [["Maria"], ["Maria"]]


def test_what_a_namesake_has_is_of_the_namesake() -> None:
    own = Namesakes(lambda _name, _before: [Mention(0, "Tom", "My dad Tom is 70.", "user")], SCHEMA)
    unit = Unit("1", Scope("u"), "chunk", "My son Tom has a bike. Tom's bike is red.", (), SAID)
    (one,) = own.told_apart(1, unit, [Statement("Tom's bike", "colour", "red")])
    assert one.subject == "Tom (son)'s bike"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("mum", "mother", True),
        ("girlfriend", "wife", True),
        ("neighbour", "neighbor", True),
        ("sister", "sibling", True),
        ("dad", "son", False),
        ("boss", "cousin", False),
        ("wife", "husband", False),
        ("teacher", "sister", False),
    ],
)
def test_roles_that_may_be_one(one: str, other: str, same: bool) -> None:
    assert same_role(one, other, SCHEMA) is same
