"""Entities: stated names merge, likeness only proposes; both are logged and can be undone."""

from __future__ import annotations

import random
from itertools import combinations, permutations

import pytest

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Statement
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.timeline.name_merging import alike
from tests.helpers.fact_making import fact
from tests.helpers.told import Told


def lives(subject: str, place: str) -> Statement:
    return Statement(subject, "lives_in", place)


def test_a_stated_name_merges_and_undo_parts(told: Told) -> None:
    told.tell(lives("Bob", "Rome"), at=1)
    told.tell(lives("user", "Oslo"), at=2, name=None)
    told.tell(Statement("user", "named", "Bob"), at=3, name=None)
    assert told.held("named") == ["Bob"]
    assert told.held("lives_in", subjects=["bob"]) == told.held("lives_in", subjects=["user"])
    assert {fact.subject for fact in told.facts(relations=["lives_in"])} == {"user"}
    add, merge = told.log()[-2:]
    assert (add.action, merge.action, merge.subject, merge.object) == ("ADD", "MERGE", "bob", "user")
    with pytest.raises(InvalidInputError, match=merge.id):
        told.undo(add)
    told.undo(merge)
    assert {fact.subject for fact in told.facts(relations=["lives_in"])} == {"Bob", "user"}
    told.undo(add)
    assert told.held("named") == []
    assert told.memory.verify() == []


def test_a_deleted_statement_takes_its_name_back(told: Told) -> None:
    told.tell(lives("Bob", "Rome"), at=1)
    message = told.tell(Statement("user", "named", "Bob"), at=3, name=None)
    assert {fact.subject for fact in told.facts(relations=["lives_in"])} == {"user"}
    told.memory.delete(message, user_id="ada")
    told.curate()
    assert {fact.subject for fact in told.facts(relations=["lives_in"])} == {"Bob"}
    told.memory.restore(message, user_id="ada")
    told.curate()
    assert {fact.subject for fact in told.facts(relations=["lives_in"])} == {"user"}
    assert [d.action for d in told.log()].count("MERGE") == 1


def test_one_may_have_several_names(told: Told) -> None:
    told.tell(Statement("user", "named", "Robert"), at=1, name=None)
    told.tell(Statement("user", "named", "Bob"), at=2, name=None)
    told.tell(lives("Robert", "Rome"), lives("Bob", "Oslo"), at=3)
    assert told.held("lives_in", subjects=["user"]) == ["Oslo"]
    assert told.held("named") == ["Bob"]


def test_a_name_that_another_has_is_not_taken(told: Told) -> None:
    told.tell(Statement("user's sister", "named", "Anna"), at=1)
    told.tell(Statement("user's cousin", "named", "Anna"), at=2)
    assert [d.action for d in told.log()] == ["ADD", "MERGE", "ADD", "PROPOSE"]
    told.tell(lives("Anna", "Rome"), at=3)
    assert [fact.subject for fact in told.facts(relations=["lives_in"])] == ["user's sister"]


def test_things_of_different_kinds_are_not_alike(told: Told) -> None:
    told.tell(Statement("Ben", "works_at", "Paris Bakery"), Statement("Ben", "lives_in", "Paris"), at=1)
    assert alike(told.facts(), load_relations()) == []


def one_edit_apart(one: str, other: str) -> bool:
    """Levenshtein's distance is 1: reference by all edits."""
    letters = {*one, *other}
    cut = {one[:i] + one[i + 1 :] for i in range(len(one))}
    put = {one[:i] + letter + one[i:] for i in range(len(one) + 1) for letter in letters}
    changed = {one[:i] + letter + one[i + 1 :] for i in range(len(one)) for letter in letters}
    return one != other and other in cut | put | changed


def test_alike_are_names_one_letter_apart_and_ends_of_longer_ones() -> None:
    chance = random.Random(5)
    schema = load_relations()
    proposals = set()
    for _ in range(150):
        names = {"".join(chance.choices("ab", k=chance.choice((7, 8, 9)))).capitalize() for _ in range(4)}
        names |= {chance.choice((f"{one} Cde", f"Cde {one}", f"Cde {one} Fg", f"{one}7", f"{one}b"))
                  for one in list(names)}  # fmt: skip
        keys = sorted(name.casefold() for name in names)
        expected = {
            pair
            for pair in combinations(keys, 2)
            if min(map(len, pair)) >= 8 and "7" not in "".join(pair) and one_edit_apart(*pair)
        }
        expected |= {
            (part, whole)
            for part, whole in permutations(keys, 2)
            if " " in whole and part in (whole.split()[0], whole.split()[-1])
        }
        found = alike([fact(name, "friend", "zed") for name in sorted(names)], schema)
        assert [(one.key, one.into) for one in found] == sorted(expected)
        for one in found:
            said = "is part of the name" if len(one.into.split()) > len(one.key.split()) else "differ in one letter"
            assert said in one.reason and all(repr(key.title()) in one.reason.title() for key in (one.key, one.into))
        proposals |= expected
    assert len(proposals) > 100


def test_only_proper_names_of_persons_places_and_groups_are_alike() -> None:
    def pairs(relation: str, *objects: str) -> list[tuple[str, str]]:
        found = alike([fact("Ida", relation, name) for name in objects], load_relations())
        return [(one.key, one.into) for one in found]

    assert pairs("lives_in", "Reykjavik", "Reykjavic") == [("reykjavic", "reykjavik")]
    assert pairs("member_of", "Chess", "Chess Club") == [("chess", "chess club")]
    assert pairs("friend", "anna", "anna schmidt") == [], "no proper names"
    assert pairs("named", "Anna", "Anna Schmidt") == [], "names of one entity"
    assert pairs("uses", "Excelsior", "Excelsiour") == pairs("no relation", "Anna", "Anna Schmidt") == []
    assert pairs("friend", "Anna Anna", "Anna") == [("anna", "anna anna")]
