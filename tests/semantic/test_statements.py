"""Statements are kept as they were said; what counts of them depends on their message, and groups know of changes."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Scope, Statement
from nscma_torch.semantic.store import entities, namespaces, statement_groups, statements
from nscma_torch.semantic.store.statement_groups import Key
from tests.helpers.telling import curate, day, heard, lives, marked, micros, say, tell

HOME = Key("ann", "lives_in", "")


def names(memory: Memory) -> dict[str, str]:
    with memory.components.database.read(ALL_USERS) as connection:
        return entities.names(connection, namespaces.namespace_id("ada", None))


def test_what_was_said_is_read_back(memory: Memory) -> None:
    said = Statement(
        "The Ann", "favourite", "Dark Red", "colour", replaces="Blue", correction=True, valid_from=day(3),
        valid_to=day(9), confidence=0.5, start=4, end=8,
    )  # fmt: skip
    tell(memory, "It is red, not blue.", said, at=7, name="Kim")
    key = Key("ann", "favourite", "colour")
    (row,) = heard(memory, key)
    assert (row.key, row.object, row.object_key, row.replaces_key) == (key, "Dark Red", "dark red", "blue")
    assert (row.correction, row.negated, row.past, row.confidence, row.start) == (True, False, False, 0.5, 4)
    assert (row.valid_from, row.valid_to, row.said_at, row.speaker) == (micros(3), micros(9), micros(7), "Kim")
    assert marked(memory) == [key] and memory.stats().jobs_queued == 1
    assert names(memory) == {"ann": "The Ann", "dark red": "Dark Red"}
    assert memory.verify() == []


def test_saying_the_same_again_changes_nothing(memory: Memory) -> None:
    episode = tell(memory, "Ann lives in Oslo.", lives("Ann", "Oslo"))
    before = heard(memory, HOME)
    curate(memory)
    say(memory, episode, lives("Ann", "Oslo"), lives("Ann", "Oslo"))
    assert heard(memory, HOME) == before
    assert marked(memory) == [] and memory.stats().jobs_queued == 0


def test_an_edited_message_takes_back_what_it_said(memory: Memory) -> None:
    episode = tell(memory, "Ann lives in Oslo.", lives("Ann", "Oslo"))
    first = heard(memory, HOME)
    curate(memory)
    memory.update(episode, "Ann lives in Rome.", user_id="ada")
    assert heard(memory, HOME) == [] and marked(memory) == [HOME]
    say(memory, episode, lives("Ann", "Rome"))
    assert [row.object for row in heard(memory, HOME)] == ["Rome"]
    say(memory, episode, lives("Ann", "Oslo"))
    assert heard(memory, HOME) == first, "the very statement is back, not another one"
    assert memory.verify() == []


def test_hidden_messages_do_not_count(memory: Memory) -> None:
    episode = tell(memory, "Ann lives in Oslo.", lives("Ann", "Oslo"))
    memory.delete(episode, user_id="ada")
    assert heard(memory, HOME) == []
    curate(memory)
    memory.restore(episode, user_id="ada")
    assert marked(memory) == [HOME] and len(heard(memory, HOME)) == 1


def test_withdrawn_statements_do_not_count(memory: Memory) -> None:
    tell(memory, "Ann lives in Oslo.", lives("Ann", "Oslo"))
    (row,) = heard(memory, HOME)
    curate(memory)
    for withdrawn in (True, False):
        with memory.components.database.write(ALL_USERS) as connection:
            statements.withdraw(connection, [row.seq], withdrawn)
        assert len(heard(memory, HOME)) == (0 if withdrawn else 1) and marked(memory) == [HOME]
        curate(memory)


def test_what_is_to_expire_says_nothing_that_would_outlive_it(memory: Memory) -> None:
    added = memory.add("Ann lives in Oslo.", user_id="ada", expiration_date=day(4000), infer=False)
    say(memory, added[0].id, lives("Ann", "Oslo"))
    assert heard(memory, HOME) == marked(memory) == []
    assert names(memory) == {}


def test_they_come_in_the_order_they_were_said(memory: Memory) -> None:
    tell(memory, "later", lives("Ann", "Rome"), at=9)
    tell(memory, "first", lives("Ann", "Bonn", start=3, end=5), lives("ann", "Oslo", end=2), at=2)
    tell(memory, "of others", lives("Bo", "Wien"), Statement("Ann", "works_as", "baker"), at=1)
    assert [row.object for row in heard(memory, HOME)] == ["Oslo", "Bonn", "Rome"]
    assert {row.key for row in heard(memory, HOME, Key("bo", "lives_in", ""))} == {HOME, Key("bo", "lives_in", "")}
    assert heard(memory) == heard(memory, Key("ann", "lives_in", "summer")) == []


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_name_is_how_it_was_first_written(order: tuple[int, ...], memory: Memory) -> None:
    spelled = ["ANN", "Ann", "ann"]
    for i in order:
        tell(memory, spelled[i], lives(spelled[i], f"Place{i}"), at=i)
    assert names(memory)["ann"] == "ANN"


def test_a_hidden_message_names_nobody(memory: Memory) -> None:
    first = tell(memory, "ANN!", lives("ANN", "Oslo"), at=1)
    tell(memory, "Ann.", lives("Ann", "Oslo"), at=2)
    memory.delete(first, user_id="ada")
    assert names(memory)["ann"] == "Ann"
    memory.restore(first, user_id="ada")
    assert names(memory)["ann"] == "ANN"


def test_agents_and_users_are_apart(memory: Memory) -> None:
    tell(memory, "one", lives("Ann", "Oslo"))
    tell(memory, "two", lives("Ann", "Rome"), agent_id="cook")
    tell(memory, "three", lives("Ann", "Bonn"), user_id="bob")
    assert [row.object for row in heard(memory, HOME)] == ["Oslo"]
    assert [row.object for row in heard(memory, HOME, agent_id="cook")] == ["Rome"]
    assert [row.object for row in heard(memory, HOME, user_id="bob")] == ["Bonn"]
    with memory.components.database.read(ALL_USERS) as connection:
        assert len(namespaces.of_scope(connection, Scope("ada"))) == 2
        assert namespaces.of_scope(connection, Scope("ada", "cook")) == [namespaces.namespace_id("ada", "cook")]
        assert namespaces.owner(connection, namespaces.namespace_id("ada", "cook")) == Scope("ada", "cook")


def test_marks_are_taken_off_one_by_one(memory: Memory) -> None:
    tell(memory, "x", *(lives(f"Person{i}", "Oslo") for i in range(1200)))
    keys = marked(memory)
    assert len(keys) == 1200
    namespace = namespaces.namespace_id("ada", None)
    with memory.components.database.write(ALL_USERS) as connection:
        statement_groups.mark(connection, namespace, keys[:3])
        statement_groups.clear(connection, namespace, keys[1:])
    assert marked(memory) == keys[:1]
    assert memory.stats().jobs_queued == 1


@pytest.mark.parametrize(
    ("said", "match"),
    [
        (lives("", "Oslo"), "subject"),
        (lives("  .", "Oslo"), "subject"),
        (Statement("Ann", "", "Oslo"), "relation"),
        (lives("Ann", "Oslo", start=2, end=99), "2:99 of 4"),
        (lives("Ann", "Oslo", start=3, end=1), "3:1"),
        (lives("Ann", "Oslo", confidence=0.0), r"confidence is 0\.0"),
        (lives("Ann", "Oslo", confidence=float("nan")), "confidence is nan"),
    ],
)
def test_a_statement_that_is_none_changes_nothing(
    said: Statement, match: str, memory: Memory, contents: Any, tmp_path: Any
) -> None:
    episode = tell(memory, "text", lives("Ann", "Rome"))
    before = contents(tmp_path / "store.db")
    with pytest.raises(InvalidInputError, match=match):
        say(memory, episode, lives("Bo", "Wien"), said)
    assert contents(tmp_path / "store.db") == before
