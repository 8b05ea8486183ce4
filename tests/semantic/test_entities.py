"""Merging entities is a reference that can be taken back; the groups of both are made again."""

from __future__ import annotations

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import InvalidInputError, NotFoundError
from nscma_torch.semantic.store import entities, namespaces
from nscma_torch.semantic.store.statement_groups import Key
from tests.helpers.telling import curate, heard, lives, marked, tell

LANE = namespaces.namespace_id("ada", None)


def merge(memory: Memory, key: str, into: str | None) -> dict[str, str]:
    with memory.components.database.write(ALL_USERS) as connection:
        entities.set_canonical(connection, LANE, {key: into})
        return entities.canonical(connection, LANE)


@pytest.fixture
def told(memory: Memory) -> Memory:
    for day, (who, where) in enumerate([("Robert", "Oslo"), ("Bob", "Rome"), ("Bobby", "the Big Apple")]):
        tell(memory, f"{who} lives in {where}.", lives(who, where), at=day)
    tell(memory, "Eve", lives("Eve", "New York", replaces="Rome"), at=5)
    curate(memory)
    return memory


def home(name: str) -> Key:
    return Key(name, "lives_in", "")


def test_merged_entities_speak_as_one(told: Memory) -> None:
    assert merge(told, "bob", "robert") == {"bob": "robert"}
    assert marked(told) == [home("bob"), home("robert")]
    assert [row.object for row in heard(told, home("robert"))] == ["Oslo", "Rome"]
    assert {row.subject for row in heard(told, home("robert"))} == {"robert"}
    assert heard(told, home("bob")) == []
    assert [fact.subject for fact in curate(told)] == ["robert", "robert"]


def test_an_object_is_known_by_the_entity_it_was_merged_into(told: Memory) -> None:
    merge(told, "big apple", "new york")
    merge(told, "rome", "oslo")
    assert marked(told) == sorted(home(name) for name in ("bobby", "eve", "bob", "robert"))
    (row,) = heard(told, home("bobby"))
    assert (row.object, row.object_key) == ("the Big Apple", "new york")
    (row,) = heard(told, home("eve"))
    assert row.replaces_key == "oslo"


def test_chains_end_where_nothing_was_merged_further_and_come_apart_again(told: Memory) -> None:
    merge(told, "bobby", "bob")
    before = [*heard(told, home("bob")), *heard(told, home("robert"))]
    curate(told)
    assert merge(told, "bob", "robert") == {"bobby": "robert", "bob": "robert"}
    assert [row.object for row in heard(told, home("robert"))] == ["Oslo", "Rome", "the Big Apple"]
    curate(told)
    assert merge(told, "bob", None) == {"bobby": "bob"}
    assert [*heard(told, home("bob")), *heard(told, home("robert"))] == before
    assert marked(told) == [home("bob"), home("robert")]


def test_what_cannot_be_merged(told: Memory) -> None:
    with pytest.raises(NotFoundError, match="'nobody'"):
        merge(told, "bob", "nobody")
    with pytest.raises(NotFoundError, match="'nobody'"):
        merge(told, "nobody", "bob")
    with pytest.raises(InvalidInputError, match="are merged already"):
        merge(told, "bob", "bob")
    merge(told, "bob", "robert")
    for key, into in (("robert", "bob"), ("bob", "robert")):
        with pytest.raises(InvalidInputError, match="are merged already"):
            merge(told, key, into)
    merge(told, "robert", "eve")
    with pytest.raises(InvalidInputError, match="are merged already"):
        merge(told, "eve", "bob")
    assert told.verify() == []
