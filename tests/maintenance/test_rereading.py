"""Messages are read with the turns before them, and again when one of these is edited, hidden, restored or erased."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.capabilities import RowQueries
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Extraction, Message, Statement, Unit
from nscma_torch.maintenance import file_erasure
from tests.helpers.noting import NotedTasks, day, opener

Open = Callable[..., Memory]


class Heard(NotedTasks):
    """States that the last word of the turn before is who has what a message names, and keeps what it was given.

    `farther`: of the first of the turns that it is given; `addresses`: "you" have it.
    """

    farther = False
    addresses = False
    meanwhile: Callable[[], object] | None = None  # done once, between reading the store and writing what was read

    def __init__(self) -> None:
        self.read: list[tuple[str, tuple[str, ...]]] = []

    def extract(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]] = (),
    ) -> list[Extraction]:
        found = []
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            act()
        for unit, turns, listener in zip(units, before, listeners, strict=True):
            self.read.append((unit.text, tuple(turn.text for turn in turns)))
            if self.addresses:
                found.append(Extraction((), (Statement(listener, "owns", unit.text, end=1),)))
                continue
            owner = turns[0 if self.farther else -1].text.split()[-1] if turns else ""
            told = [Statement(owner, "owns", unit.text, end=1)] if turns else []
            found.append(Extraction((), tuple(told)))
        return found


@pytest.fixture
def tasks() -> Heard:
    return Heard()


@pytest.fixture
def memory(open_memory: Open, light_surprise: Any, tasks: Heard) -> Memory:
    return opener(open_memory, light_surprise)(tasks=tasks)


def say(memory: Memory, *texts: str, hours: float = 0, **more: Any) -> list[str]:
    ids = []
    for minutes, text in enumerate(texts):
        at = day(1) + timedelta(hours=hours, minutes=minutes)
        (added,) = memory.add(text, user_id="ada", timestamp=at, now=at, **more)
        ids.append(added.id)
    return ids


def owners(memory: Memory) -> set[tuple[str, str]]:
    return {(fact.subject, fact.object) for fact in memory.facts(user_id="ada", now=day(9))}


def test_a_message_is_read_with_two_turns_of_its_day(memory: Memory, tasks: Heard) -> None:
    say(memory, "one", "two", "three", "four")
    say(memory, "five", hours=24)
    memory.flush()
    assert dict(tasks.read) == {
        "one": (),
        "two": ("one",),
        "three": ("one", "two"),
        "four": ("two", "three"),
        "five": (),
    }


def test_what_is_to_expire_is_not_read_with_others(memory: Memory, tasks: Heard) -> None:
    say(memory, "my code is 4711", expiration_date=day(5))
    say(memory, "a bike", hours=1)
    memory.flush()
    assert dict(tasks.read)["a bike"] == ()


def test_an_edit_has_those_after_it_read_again(memory: Memory, tasks: Heard) -> None:
    first, *_ = say(memory, "I met Ana", "a bike", "a kite", "a boat")
    memory.flush()
    assert ("Ana", "a bike") in owners(memory)
    tasks.read.clear()
    memory.update(first, "I met Bea", user_id="ada", now=day(2))
    memory.flush()
    assert {text for text, _ in tasks.read} == {"I met Bea", "a bike", "a kite"}, "and none further on"
    assert ("Bea", "a bike") in owners(memory) and ("Ana", "a bike") not in owners(memory)


def test_hiding_and_bringing_back_have_those_after_it_read_again(memory: Memory) -> None:
    first, *_ = say(memory, "I met Ana", "a bike")
    memory.flush()
    memory.delete(first, user_id="ada", now=day(2))
    memory.flush()
    assert owners(memory) == set()
    memory.restore(first, user_id="ada", now=day(3))
    memory.flush()
    assert owners(memory) == {("Ana", "a bike")}


def test_what_was_told_by_an_erased_message_goes_with_it(memory: Memory, tasks: Heard) -> None:
    first, *_ = say(memory, "I met Ana", "bike", "kite")
    memory.flush()
    assert owners(memory) == {("Ana", "bike"), ("bike", "kite")}
    memory.erase(user_id="ada", memory_id=first)
    assert owners(memory) == set(), "nothing rests on what was read with the erased message"
    tasks.read.clear()
    memory.flush()
    assert dict(tasks.read) == {"bike": (), "kite": ("bike",)}
    assert owners(memory) == {("bike", "kite")} and memory.verify() == []


def names_in_statements(memory: Memory) -> set[str]:
    with memory.components.database.read(ALL_USERS) as connection:
        return set(file_erasure.texts_of_capabilities(RowQueries(connection, ("ada",))))


def test_an_edited_message_that_waits_keeps_no_name_from_an_erased_one(memory: Memory, tasks: Heard) -> None:
    first, second, *_ = say(memory, "I met Ana", "bike", "kite")
    memory.flush()
    memory.update(second, "bicycle", user_id="ada", now=day(2))
    assert "ana" in names_in_statements(memory), "the superseded statement is kept"
    memory.erase(user_id="ada", memory_id=first)
    assert not names_in_statements(memory) & {"ana", "Ana"}
    tasks.read.clear()
    memory.flush()
    assert sorted(tasks.read) == [("bicycle", ()), ("kite", ("bicycle",))]
    assert owners(memory) == {("bicycle", "kite")} and memory.verify() == []


@pytest.mark.parametrize("flushed", [True, False])
def test_what_was_read_while_a_message_between_was_hidden_goes_too(memory: Memory, tasks: Heard, flushed: bool) -> None:
    tasks.farther = True
    first, hidden, *_ = say(memory, "I met Ana", "bike", "kite", "boat")
    memory.delete(hidden, user_id="ada", now=day(2))
    memory.flush()
    memory.restore(hidden, user_id="ada", now=day(3))
    if flushed:
        memory.flush()
    memory.erase(user_id="ada", memory_id=first)
    assert not names_in_statements(memory) & {"ana", "Ana"}
    memory.flush()
    assert owners(memory) == {("bike", "kite"), ("bike", "boat")} and memory.verify() == []


@pytest.mark.parametrize("change", ["erase", "update", "delete"])
def test_a_turn_that_changes_while_the_message_after_it_is_read(memory: Memory, tasks: Heard, change: str) -> None:
    first, *_ = say(memory, "I met Ana", "bike")
    match change:
        case "erase":
            tasks.meanwhile = lambda: memory.erase(user_id="ada", memory_id=first)
        case "update":
            tasks.meanwhile = lambda: memory.update(first, "I met Bea", user_id="ada", now=day(2))
        case "delete":
            tasks.meanwhile = lambda: memory.delete(first, user_id="ada", now=day(2))
    memory.flush()
    assert owners(memory) == ({("Bea", "bike")} if change == "update" else set())
    if change == "erase":
        assert not names_in_statements(memory) & {"ana", "Ana"}
    assert memory.verify() == [] and not memory.stats().failures


def test_whom_an_erased_message_made_the_listener_is_forgotten(memory: Memory, tasks: Heard) -> None:
    tasks.addresses = True
    said: list[tuple[str | None, str]] = [("Ana", "Hello"), (None, "bike"), (None, "kite"), (None, "boat")]
    ids = [memory.add([Message("user", text, day(1), name)], user_id="ada", now=day(1))[0].id for name, text in said]
    memory.flush()
    assert {("Ana", text) for _, text in said[1:]} <= owners(memory)
    memory.erase(user_id="ada", memory_id=ids[0])
    assert not names_in_statements(memory) & {"ana", "Ana"}
    memory.flush()
    assert owners(memory) == {("assistant", text) for _, text in said[1:]} and memory.verify() == []


def test_a_hidden_message_between_counts_for_none(memory: Memory, tasks: Heard) -> None:
    first, hidden, *_ = say(memory, "I met Ana", "bike", "kite", "boat", "tent")
    memory.delete(hidden, user_id="ada", now=day(2))
    memory.flush()
    assert dict(tasks.read)["boat"] == ("I met Ana", "kite")
    tasks.read.clear()
    memory.erase(user_id="ada", memory_id=first)
    memory.flush()
    assert {text: turns for text, turns in tasks.read if text != "bike"} == {"kite": (), "boat": ("kite",)}
