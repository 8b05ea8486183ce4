"""Of two statements of one matter the newer goes first, where a question asks how things stand now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import torch
from torch import Tensor

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message, Scope, Unit
from nscma_torch.search.promote_latest import HEAD, promote_latest

START = datetime(2024, 1, 1, tzinfo=UTC)
ALIKE = torch.eye(2)[[0, 0, 0, 1, 1, 1]]  # units 0-2 speak of one matter, 3-5 of another


def unit(seq: int, **fields: Any) -> Unit:
    known = {"role": "user", "name": "Ana", "occurred_at": START + timedelta(days=seq), "episode_ids": (str(seq),)}
    return Unit(id=str(seq), scope=Scope("ada"), kind="chunk", text="", **(known | fields))


def cosines(seqs: Sequence[int]) -> Tensor:
    return ALIKE[list(seqs)] @ ALIKE[list(seqs)].T


def reordered(scores: dict[int, float], **fields: Any) -> dict[int, float]:
    units = {seq: unit(seq, **fields) for seq in scores}
    found, renewed = promote_latest(scores, units, cosines, "")
    assert renewed <= set(scores)
    assert sorted(found) == sorted(scores), "nothing is dropped and nothing added"
    assert list(found.values()) == sorted(found.values(), reverse=True)
    return found


def test_the_newer_goes_directly_before_the_older_and_takes_its_score() -> None:
    assert reordered({3: 1.0, 0: 0.9, 4: 0.8, 1: 0.7}) == {4: 1.0, 3: 1.0, 1: 0.9, 0: 0.9}


def test_of_three_the_newest_is_first() -> None:
    assert list(reordered({0: 1.0, 1: 0.95, 2: 0.9})) == [2, 1, 0]


def test_a_newest_one_that_leads_already_stays() -> None:
    assert list(reordered({2: 1.0, 0: 0.9, 3: 0.8})) == [2, 0, 3]


def test_much_worse_hits_do_not_rise() -> None:
    assert list(reordered({0: 1.0, 1: 0.5})) == [0, 1]


@pytest.mark.parametrize("fields", [{"role": "assistant"}, {"role": "document"}])
def test_what_no_person_said_is_left_where_it_is(fields: dict[str, Any]) -> None:
    assert list(reordered({0: 1.0, 1: 0.9}, **fields)) == [0, 1]


def test_two_people_do_not_renew_each_other() -> None:
    units = {0: unit(0, name="Ana"), 1: unit(1, name="Ben")}
    assert list(promote_latest({0: 1.0, 1: 0.9}, units, cosines, "")[0]) == [0, 1]


def test_only_the_head_is_looked_at() -> None:
    scores = {seq: 1.0 - seq / 100 for seq in range(HEAD + 2)}
    units = {seq: unit(seq) for seq in scores}
    found = list(promote_latest(scores, units, lambda seqs: torch.ones(len(seqs), len(seqs)), "")[0])
    assert found == [*range(HEAD - 1, -1, -1), HEAD, HEAD + 1]


def test_auto_puts_the_update_first_and_a_strategy_by_name_does_not(
    open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    memory = open_memory("budget.db", surprise_model=light_surprise, config={"gate": {"rule": "everything"}})
    said = [
        "My monthly budget for books is 35 euros.",
        "The weather was awful all week.",
        "My monthly budget for books rose to 50 euros, by the way.",
    ]
    for day, text in enumerate(said):
        moment = START + timedelta(days=day)
        memory.add(Message("user", text, moment, session=str(day)), user_id="ada", now=moment)
    asked, later = "What is my monthly budget for books?", START + timedelta(days=9)
    plain = memory.search(asked, user_id="ada", strategy="links", now=later)
    assert [hit.text for hit in plain][:2] == [said[0], said[2]]
    for top_k in (1, 2, 10):
        auto = memory.search(asked, user_id="ada", top_k=top_k, now=later)
        assert [hit.text for hit in auto][:2] == [said[2], said[0]][:top_k]
    past = memory.search("What was my monthly budget for books?", user_id="ada", now=later)
    assert past[0].text == said[0]
    told = memory.search(asked, user_id="ada", now=later, explain=True)
    assert told[0].score == told[1].score > told[0].parts["own_score"], "what it was moved up from is shown"
    least = plain[1].score + 0.001
    assert [hit.text for hit in memory.search(asked, user_id="ada", now=later, threshold=least)] == [said[0]]
    answer = memory.ask("What is my monthly budget for the books?", user_id="ada", now=later)
    assert "50" in answer.text and "35" not in answer.text and len(answer.evidence) >= 1
    before = memory.search(asked, user_id="ada", now=START + timedelta(days=1))
    assert before[0].text == said[0]


@pytest.mark.parametrize(
    ("said", "asked", "wanted"),
    [
        (
            ("The red folder holds the tax papers.", "The blue folder holds the holiday papers."),
            "What is in the red folder?",
            0,
        ),
        (
            ("The kitchen tap needs a new washer.", "The bathroom tap needs a new handle."),
            "What does the kitchen tap need?",
            0,
        ),
        (
            ("The car is at Rossi's garage.", "The car is at the garage of Bianchi now."),
            "Which garage is the car at?",
            1,
        ),
    ],
)
def test_an_answer_keeps_what_only_looks_renewed(
    open_memory: Callable[..., Memory], light_surprise: Any, said: tuple[str, str], asked: str, wanted: int
) -> None:
    """Two like things are two things: the one that is asked for has a word of the question that the other lacks."""
    memory = open_memory("things.db", surprise_model=light_surprise, config={"gate": {"rule": "everything"}})
    for day, text in enumerate(said):
        memory.add(Message("user", text, START + timedelta(days=day)), user_id="ada")
    answer = memory.ask(asked, user_id="ada", now=START + timedelta(days=9))
    assert answer.evidence[0].text == said[wanted]


def test_a_chain_ends_with_the_newest_before_what_it_renews() -> None:
    near = torch.tensor([[1.0, 0.6, 0.3], [0.6, 1.0, 0.6], [0.3, 0.6, 1.0]])
    scores = {0: 1.0, 1: 0.9, 2: 0.8}
    units = {seq: unit(seq) for seq in scores}
    found, renewed = promote_latest(scores, units, lambda seqs: near[seqs][:, seqs], "")
    assert list(found) == [2, 1, 0] and renewed == {0, 1}


def test_what_is_renewed_is_marked_wherever_it_stands() -> None:
    units = {seq: unit(seq) for seq in (2, 0, 3)}
    assert promote_latest({2: 1.0, 0: 0.9, 3: 0.8}, units, cosines, "")[1] == {0}


def test_parts_of_one_message_do_not_renew_each_other() -> None:
    assert list(reordered({0: 1.0, 1: 0.9}, episode_ids=("one message",))) == [0, 1]


@pytest.mark.parametrize(
    ("newer", "first"),
    [
        ("my cat is called Tom", 0),  # of something else, however alike the vectors are
        ("my dog is called Max now", 1),
        ("Max is what I call the dog", 1),
    ],
)
def test_what_lacks_the_word_that_is_asked_for_renews_nothing(newer: str, first: int) -> None:
    units = {0: replace(unit(0), text="My dog is called Rex"), 1: replace(unit(1), text=newer)}
    found, renewed = promote_latest({0: 1.0, 1: 0.9}, units, cosines, "What is my dog called?")
    assert next(iter(found)) == first and renewed == ({0} if first else frozenset())


@pytest.mark.parametrize("others", [0, 20])
def test_a_cat_does_not_renew_a_dog(
    others: int, open_memory: Callable[..., Memory], light_surprise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put before the dog for a question on it, as their vectors are alike."""
    monkeypatch.setattr(
        f"{promote_latest.__module__}._SAME_MATTER", 0.3
    )  # hashed words are less alike than the default vectors
    monkeypatch.setattr(f"{promote_latest.__module__}._AS_GOOD", 0.3)
    memory = open_memory("pets.db", surprise_model=light_surprise, config={"gate": {"rule": "everything"}})
    said = [*(f"Note {i}: the kettle of shelf {i} is blue." for i in range(others))]
    said += [f"My {pet} from the shelter in town is called {name}." for pet, name in (("dog", "Rex"), ("cat", "Tom"))]
    said.append("My dog from the shelter in town is called Max now.")
    for day, text in enumerate(said[:-1]):
        memory.add(Message("user", text, START + timedelta(days=day), session=str(day)), user_id="ada")
    asked, later = "What is my dog called?", START + timedelta(days=99)
    found = memory.search(asked, user_id="ada", now=later)
    assert found[0].text == said[-3] and not found[0].renewed
    memory.add(Message("user", said[-1], later, session="now"), user_id="ada")
    found = memory.search(asked, user_id="ada", now=later)
    assert [hit.text for hit in found[:2]] == [said[-1], said[-3]] and found[1].renewed
