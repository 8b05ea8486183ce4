"""Who the user is: the name their messages carry, the name they told, and their id, where nobody else has it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.controller.controller import Controller
from nscma_torch.controller.tools import MemoryTools
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Message, Scope
from nscma_torch.episodic.log.speakers import Asker, asker_among, asker_of
from nscma_torch.llm.prompts.acting import RetrieveSemantic

NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)
ALLERGY = "I'm allergic to peanuts."
WHAT = "What is Ana allergic to?"
Told = Callable[..., Memory]


@pytest.fixture
def told(open_memory: Callable[..., Memory], light_surprise: Any) -> Told:
    """`told(user, *texts)`: a memory of a user who said these; a pair is (name, text)."""
    config = {"gate": {"rule": "everything"}, "hierarchy": {"enabled": False}}

    def make(user: str, *texts: str | tuple[str | None, str]) -> Memory:
        memory = open_memory(f"{user}.db", config, surprise_model=light_surprise)
        for text in texts:
            name, said = (None, text) if isinstance(text, str) else text
            memory.add([Message("user", said, NOW, name=name)], user_id=user, now=NOW)
        return memory

    return make


def asked(memory: Memory, user: str, question: str = WHAT) -> tuple[str, bool]:
    answer = memory.ask(question, user_id=user, now=NOW)
    return answer.text, bool(answer.facts)


@pytest.mark.parametrize("user", ["ana", "Ana", "ANA"])
def test_the_id_is_a_name(told: Told, user: str) -> None:
    memory = told(user, ALLERGY, "My sister Eva lives in Bonn.")
    assert asked(memory, user) == ("peanuts", True)
    assert asked(memory, user, "Where does Ana's sister live?") == ("Bonn", True)
    assert asked(memory, user, "What am I allergic to?") == ("peanuts", True)
    assert Controller(memory, None, user_id=user, flush=False).turn(WHAT, now=NOW).text == "peanuts"


def test_another_persons_name_is_not_the_users(told: Told) -> None:
    memory = told("ana", ALLERGY, "My sister Ana lives in Bonn.")
    assert asked(memory, "ana")[0] != "peanuts" and not asked(memory, "ana")[1]
    assert asked(memory, "ana", "Where does Ana live?") == ("Bonn", True)


def test_the_id_is_no_name_where_the_user_has_one(told: Told) -> None:
    assert not asked(told("ana", ("Kim", ALLERGY)), "ana")[1]
    assert not asked(told("eva", "My name is Nora.", ALLERGY), "eva", "What is Eva allergic to?")[1]


@pytest.mark.parametrize("user", ["user-17", "default", "u1"])
def test_an_id_that_is_no_word(told: Told, user: str) -> None:
    memory = told(user, ALLERGY)
    assert not asked(memory, user, f"What is {user.capitalize()} allergic to?")[1]


def test_the_name_that_was_told(told: Told) -> None:
    memory = told("u1", "My name is Nora.", ALLERGY)
    assert asked(memory, "u1", "What is Nora allergic to?") == ("peanuts", True)


def test_a_name_that_only_some_messages_carry_is_another_speaker(told: Told) -> None:
    memory = told("u1", ("Kim", ALLERGY), "I'm allergic to cats.", ("Kim", "My brother is Leo."), "I live in Rome.")
    assert asked(memory, "u1", "What am I allergic to?") == ("cats", True)
    assert asked(memory, "u1", "What is Kim allergic to?") == ("peanuts", True)
    assert not asked(memory, "u1", "Where does Kim live?")[1]
    assert not asked(memory, "u1", "Who is my brother?")[1]
    assert not asked(memory, "u1", "Where does my brother work?")[1]
    tools = MemoryTools(memory, Scope("u1"), top_k=3)
    found = tools.semantic(RetrieveSemantic(action="retrieve_semantic", entity="me"), NOW, None)
    assert {fact.object for fact in found.facts} == {"cats", "Rome"}


@pytest.mark.parametrize(("user", "more"), [("ana", ()), ("u1", ("My name is Ana.",)), ("ana", (("Kim", "Hello."),))])
def test_a_name_that_is_known_to_be_the_users(told: Told, user: str, more: tuple[Any, ...]) -> None:
    memory = told(user, *more, ("Ana", ALLERGY), "I live in Rome.")
    assert asked(memory, user, "What am I allergic to?") == ("peanuts", True)
    assert asked(memory, user, "Where does Ana live?") == ("Rome", True)
    assert asked(memory, user, "Where do I live?") == ("Rome", True)


def test_several_names_are_several_people(told: Told) -> None:
    memory = told("u1", ("Ana", ALLERGY), ("Kim", "I live in Rome."), "I live in Bonn.")
    assert asked(memory, "u1", "Where does Ana live?")[1] is False
    assert asked(memory, "u1", "Where does Kim live?") == ("Rome", True)
    with memory.components.database.read(ALL_USERS) as connection:
        assert asker_of(connection, "u1") == Asker("user", "", "")


@pytest.mark.parametrize(
    ("user", "names", "asker"),
    [
        ("u1", [None], ("user", "", "")),
        ("ana", [None], ("user", "", "ana")),
        ("u1", ["Kim"], ("Kim", "Kim", "")),
        ("ana", ["Kim"], ("Kim", "Kim", "")),
        ("u1", ["Kim", "kim"], ("Kim", "Kim", "")),
        ("u1", [None, "Kim"], ("user", "", "")),
        ("ana", ["", "Kim"], ("user", "", "ana")),
        ("ana", [None, "Ana"], ("user", "Ana", "")),
        ("ana", ["Ana", "Kim"], ("Ana", "Ana", "")),
        ("ana", [None, "Ana", "Kim"], ("user", "Ana", "")),
        ("u1", ["Ana", "Kim"], ("user", "", "")),
        ("u1", [], ("user", "", "")),
    ],
)
def test_whom_i_means(user: str, names: list[str | None], asker: tuple[str, str, str]) -> None:
    assert asker_among(names, user) == Asker(*asker)


@pytest.mark.parametrize(
    ("user", "names", "own"),
    [
        ("u1", (None, "Kim"), {None}),
        ("ana", (None, "Ana", "Kim"), {None, "Ana"}),
        ("u1", ("Kim", "Kim"), {"Kim"}),
        ("u1", ("Kim", "Robin"), {"Kim", "Robin"}),  # the asker may be either
    ],
)
def test_a_search_for_what_i_said(told: Told, user: str, names: tuple[str | None, ...], own: set[str | None]) -> None:
    memory = told(user, *[(name, "I bought a bicycle.") for name in names])
    memory.add([Message("assistant", "You bought a bicycle.", NOW, name="Bot")], user_id=user, now=NOW)
    found = memory.search("Which bicycle did I buy?", user_id=user, now=NOW, explain=True)
    assert {hit.unit.name for hit in found if hit.parts["speaker_boost"] == 1.5} == own
    if "Ana" in own:
        found = memory.search("Which bicycle did Ana buy?", user_id=user, now=NOW, explain=True)
        assert {hit.unit.name for hit in found if hit.parts["speaker_boost"] == 1.5} == own


def test_the_id_is_a_name_beside_other_speakers(told: Told) -> None:
    memory = told("ana", ALLERGY, ("Kim", "I'm allergic to cats."))
    assert asked(memory, "ana") == ("peanuts", True)
    found = memory.search(WHAT, user_id="ana", now=NOW, explain=True)
    assert {hit.unit.name: hit.parts["speaker_boost"] for hit in found} == {None: 1.5, "Kim": 1.0}


def test_a_search_knows_who_is_meant(told: Told) -> None:
    texts = [ALLERGY, *(f"The ferry number {i} leaves at noon." for i in range(5))]
    memory = told("ana", *texts)
    memory.add([Message("assistant", "What are you allergic to?", NOW)], user_id="ana", now=NOW)
    first = memory.search(WHAT, user_id="ana", now=NOW, explain=True)[0]
    assert (first.text, first.parts["speaker_boost"]) == (ALLERGY, 1.5)
    memory.add([Message("user", "Ana called me.", NOW)], user_id="ana", now=NOW)
    found = {hit.text: hit.parts["speaker_boost"] for hit in memory.search(WHAT, user_id="ana", now=NOW, explain=True)}
    assert found[ALLERGY] == 1.0, "there is another Ana"


def test_the_controller_finds_what_is_known_of_the_user(told: Told) -> None:
    memory = told("ana", ALLERGY)
    memory.flush()
    tools = MemoryTools(memory, Scope("ana"), top_k=3)
    for entity in ("Ana", "me", "the user"):
        found = tools.semantic(RetrieveSemantic(action="retrieve_semantic", entity=entity), NOW, None)
        assert [fact.object for fact in found.facts] == ["peanuts"], entity
