"""Facts on both clocks: what held when, and what was believed when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Fact, Scope, Statement
from nscma_torch.semantic.store import facts, namespaces
from nscma_torch.semantic.store.facts import FORGETTING, FactRow
from nscma_torch.semantic.store.statement_groups import Key
from tests.helpers.telling import curate, day, lives, micros, tell

HOME = Key("ann", "lives_in", "")
LANE = namespaces.namespace_id("ada", None)


def read(memory: Memory, scope: Scope | None = None, **clauses: Any) -> list[Fact]:
    with memory.components.database.read(ALL_USERS) as connection:
        return facts.select_facts(connection, scope or Scope("ada"), **clauses)


def objects(memory: Memory, **clauses: Any) -> list[str]:
    return [fact.object for fact in read(memory, **clauses)]


@pytest.fixture
def moved(memory: Memory) -> Memory:
    """Ann lived in Oslo from day 0, in Rome from day 10; the second was learned on day 20."""
    tell(memory, "Ann lives in Oslo.", lives("Ann", "Oslo"), at=0)
    curate(memory, at=1)
    tell(memory, "ann lives in Rome.", lives("ann", "Rome"), at=10)
    curate(memory, at=20)
    return memory


def test_what_holds_now(moved: Memory) -> None:
    (fact,) = read(moved)
    assert (fact.subject, fact.relation, fact.object, fact.status) == ("Ann", "lives_in", "Rome", "active")
    assert (fact.valid_from, fact.valid_to) == (day(10), None)
    assert (fact.recorded_at, fact.retired_at) == (day(20), None)
    assert fact.scope == Scope("ada")
    assert fact.episode_ids == (moved.log(user_id="ada")[1].id,)
    assert moved.stats().facts == {"active": 1, "archived": 1} and moved.stats(user_id="bob").facts == {}
    assert moved.verify() == []


def test_what_held_then(moved: Memory) -> None:
    assert [objects(moved, as_of=micros(n)) for n in (-1, 0, 9, 10, 11)] == [[], ["Oslo"], ["Oslo"], ["Rome"], ["Rome"]]


def test_what_was_believed_then(moved: Memory) -> None:
    assert [objects(moved, known_at=micros(n)) for n in (0, 1, 19, 20)] == [[], ["Oslo"], ["Oslo"], ["Rome"]]
    # on day 15 we would have said that she lives in Oslo on day 12; today we know better
    assert objects(moved, as_of=micros(12), known_at=micros(15)) == ["Oslo"]
    assert objects(moved, as_of=micros(12)) == ["Rome"]
    (then,) = read(moved, known_at=micros(15))
    assert (then.retired_at, then.valid_to) == (day(20), None)


def test_a_fact_keeps_its_id_when_its_end_becomes_known(moved: Memory) -> None:
    (then,) = read(moved, known_at=micros(15))
    (now,) = read(moved, statuses=("archived",))
    assert then.id == now.id and (then.valid_to, now.valid_to) == (None, day(10))


def test_choosing_by_subject_and_relation(moved: Memory) -> None:
    tell(moved, "Bo works in Rome.", Statement("Bo", "works_in", "Rome"), lives("Bo", "Rome"), at=3)
    curate(moved)
    assert len(read(moved)) == 3
    assert {f.subject for f in read(moved, subjects=["bo"])} == {"Bo"}
    assert [f.subject for f in read(moved, relations=["lives_in"])] == ["Ann", "Bo"]
    assert [f.relation for f in read(moved, subjects=["bo"])] == ["lives_in", "works_in"]
    assert read(moved, subjects=[]) == read(moved, relations=["owns"]) == []
    both = read(moved, subjects=["ann"], statuses=("active", "archived"))
    assert [f.object for f in both] == ["Oslo", "Rome"], "in the order of valid time"


def test_scopes_bound_what_is_read(moved: Memory) -> None:
    tell(moved, "Ann lives in Bonn.", lives("Ann", "Bonn"), agent_id="cook", run_id="r1")
    tell(moved, "Ann lives in Wien.", lives("Ann", "Wien"), user_id="bob")
    curate(moved, agent_id="cook")
    curate(moved, user_id="bob")
    assert {f.object for f in read(moved)} == {"Rome", "Bonn"}
    assert [f.object for f in read(moved, Scope("ada", "cook"))] == ["Bonn"]
    assert [f.object for f in read(moved, Scope("ada", None, "r1"))] == ["Bonn"]
    assert read(moved, Scope("ada", "cook", "r2")) == read(moved, Scope("ada", "other")) == []
    assert [f.object for f in read(moved, Scope("bob"))] == ["Wien"]


def believed(memory: Memory) -> list[FactRow]:
    with memory.components.database.read(ALL_USERS) as connection:
        return facts.believed(connection, LANE, [HOME])


def test_the_archive_is_a_way_out_of_search(moved: Memory) -> None:
    before, digest = believed(moved), moved.digest()
    with moved.components.database.write(ALL_USERS) as connection:
        gone = facts.archive(connection, [before[1].seq], by=FORGETTING, reason="long not recalled", at=micros(30))
    assert objects(moved) == [] and objects(moved, as_of=micros(25)) == ["Rome"]
    assert objects(moved, known_at=micros(25)) == ["Rome"]
    assert (gone[0].id, gone[0].archived_by, gone[0].reason) == (before[1].id, FORGETTING, "long not recalled")
    assert moved.digest() != digest and moved.verify() == []


def test_facts_by_id_are_those_believed_now(moved: Memory) -> None:
    rows = believed(moved)
    with moved.components.database.read(ALL_USERS) as connection:
        assert facts.by_ids(connection, "ada", [row.id for row in rows]) == rows
        assert facts.by_ids(connection, "bob", [row.id for row in rows]) == []


def test_what_is_no_fact_is_refused(moved: Memory) -> None:
    good = believed(moved)[0].new()
    for bad, match in (
        (replace(good, statement_seqs=()), "needs a supporting statement"),
        (replace(good, valid_from=5, valid_to=4), "end before"),
    ):
        with moved.components.database.write(ALL_USERS) as connection, pytest.raises(InvalidInputError, match=match):
            facts.insert(connection, LANE, "ada", [good, bad], micros(50))
    assert len(believed(moved)) == 2


def test_an_unknown_beginning_comes_before_all(moved: Memory) -> None:
    rows = believed(moved)
    earlier = replace(rows[0].new(), valid_from=None, valid_to=micros(0), object="Bonn", object_key="bonn")
    with moved.components.database.write(ALL_USERS) as connection:
        facts.insert(connection, LANE, "ada", [earlier], micros(50))
    assert objects(moved, as_of=micros(-1000)) == ["Bonn"]
    assert objects(moved, statuses=("archived", "active")) == ["Bonn", "Oslo", "Rome"]
