"""A fact of one value answers only where nothing newer, unread, may have renewed it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.controller.controller import Controller
from nscma_torch.core.records import Fact
from nscma_torch.reading.relations import load_relations
from nscma_torch.search.later_renewals import matter, may_renew, of_its_value
from nscma_torch.text.terms import terms
from tests.helpers.fact_making import fact
from tests.helpers.plain_sentences import read_plainly

NOW = datetime(2026, 4, 1, 10, tzinfo=UTC)
Open = Callable[..., Memory]


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    read_plainly(monkeypatch)


def told(memory: Memory, *messages: str) -> Memory:
    for day, text in enumerate(messages):
        memory.add(text, user_id="ada", timestamp=NOW + timedelta(days=day), now=NOW + timedelta(days=day))
    memory.flush()
    return memory


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("messages", "question", "newer", "older"),
    [
        (("My budget is 3000.", "Actually make that 3500."), "What is my budget?", "3500", "3000"),
        (
            ("My budget is 3000.", "I bought a lamp.", "Bump the budget up to 3500."),
            "What is my budget?",
            "3500",
            "3000",
        ),
        (("I live in Rome.", "The kids and I get to live in sunny Lyon."), "Where do I live?", "Lyon", "Rome"),
    ],
)
def test_what_may_be_renewed_is_shown_and_not_asserted(
    messages: tuple[str, ...], question: str, newer: str, older: str, memory: Memory
) -> None:
    answer = told(memory, *messages).ask(question, user_id="ada", now=NOW + timedelta(days=9))
    assert answer.confidence < 0.5
    assert answer.text.startswith("not sure: ")
    assert answer.text.index(newer) < answer.text.index(older)
    assert [newer in item.text for item in answer.evidence] == [True, False]


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("messages", "question", "value"),
    [
        (("My budget is 3000.", "Where could I get a tent for 3500?"), "What is my budget?", "3000"),
        (("My budget is 3000.", "The 3500 birds were loud."), "What is my budget?", "3000"),
        (("My budget is 3000.", "My budget is 3500 now."), "What is my budget?", "3500"),
        (("The budget talks went up to 3500.", "My budget is 3000."), "What is my budget?", "3000"),
        (("I live in Rome.", "If I win I will live in Paris."), "Where do I live?", "Rome"),
        (
            ("I live in Rome.", "Please translate: The kids and I get to live in sunny Lyon."),
            "Where do I live?",
            "Rome",
        ),
    ],
)
def test_what_nothing_renews_is_answered(messages: tuple[str, ...], question: str, value: str, memory: Memory) -> None:
    answer = told(memory, *messages).ask(question, user_id="ada", now=NOW + timedelta(days=9))
    assert (answer.text, answer.confidence) == (value, 0.9)


def test_a_new_day_is_read(memory: Memory) -> None:
    told(memory, "I have a flight on the 3rd of May.", "The flight got moved to the 5th of May.")
    assert memory.ask("When is my flight?", user_id="ada", now=NOW + timedelta(days=9)).text == "5th of May"


BUDGET, DIET, HOME = fact("budget", "value", "3000"), fact("user", "diet", "vegan"), fact("user", "lives_in", "Rome")
FLIGHT = fact("user's flight", "scheduled_for", "3 May 2026")


@pytest.mark.parametrize(
    ("known", "text", "follows", "renews"),
    [
        (BUDGET, "The budget is 3500.", False, True),
        (BUDGET, "The budget is 3000.", False, False),
        (BUDGET, "Will the budget be 3500?", False, False),
        (BUDGET, "Actually make that 3500.", True, True),
        (BUDGET, "Actually make that 3500.", False, False),
        (BUDGET, "Now please make that one 3500 for us.", True, True),  # of 8 words
        (BUDGET, "Now please make that one 3500 for us all.", True, False),
        (BUDGET, "Please make hers 3500.", True, False),
        (DIET, "I changed my diet last week.", False, True),
        (DIET, "My diet is fine.", False, False),
        (HOME, "We are home in Lyon.", False, True),
        (HOME, "We are home in Rome.", False, False),
        (HOME, "I will be home in Paris from 2031.", False, False),
        (FLIGHT, "The flight is on 5 May 2026.", False, True),
        (FLIGHT, "The flight is on 3 May 2026.", False, False),
        (FLIGHT, "The train is on 5 May 2026.", False, False),
    ],
)
def test_what_may_renew(known: Fact, text: str, follows: bool, renews: bool) -> None:
    about = {"budget", "diet", "home", "flight"}
    assert may_renew(known, text, NOW, about, load_relations(), follows=follows) is renews


@pytest.mark.parametrize(
    ("known", "question", "terms"),
    [
        (BUDGET, "What is it?", {"budget"}),
        (FLIGHT, "What is it?", {"flight"}),
        (HOME, "Where do I live in Rome?", {"live"}),
        (fact("Ben", "lives_in", "Rome"), "Where does Ben live?", {"live"}),
        (fact("Ben", "favourite", "blue", topic="colour"), "What does Ben like?", {"colour"}),
    ],
)
def test_the_matter_is_the_topic_the_thing_or_what_is_asked_of_a_person(
    known: Fact, question: str, terms: set[str]
) -> None:
    assert matter(known, question) == terms


def test_what_a_person_is_called_is_no_matter_of_what_is_known_about_them(memory: Memory) -> None:
    told(memory, "I live in Rome.", "My name is Ana.")
    assert memory.ask("Where does Ana live?", user_id="ada", now=NOW + timedelta(days=9)).text == "Rome"
    told(memory, "Ana found a flat in Lyon, I live there now.")
    assert memory.ask("Where does Ana live?", user_id="ada", now=NOW + timedelta(days=9)).text != "Rome"


@pytest.mark.usefixtures("plain")
def test_another_user_renews_nothing(memory: Memory) -> None:
    told(memory, "My budget is 3000.")
    memory.add("The budget went up to 3500.", user_id="ben", timestamp=NOW + timedelta(days=1))
    memory.flush()
    assert memory.ask("What is my budget?", user_id="ada", now=NOW + timedelta(days=9)).text == "3000"


@pytest.mark.usefixtures("plain")
def test_a_draft_of_the_conversation_asserts_it_no_more(open_memory: Open) -> None:
    memory = open_memory(config={"gate": {"rule": "everything"}, "hierarchy": {"enabled": False}})
    chat = Controller(memory, None, user_id="ada")
    for turn, said in enumerate(("My budget is 3000.", "Actually make that 3500.")):
        chat.turn(said, now=NOW + timedelta(minutes=turn))
    answer = chat.turn("What is my budget?", now=NOW + timedelta(minutes=5))
    assert answer.text != "3000"
    assert "3500" in answer.text


def test_a_value_is_named_by_itself_and_by_the_nouns_of_its_relation() -> None:
    schema = load_relations()
    named = of_its_value(fact("user", "works_at", "Lidl"), schema)
    assert {"lidl", "job"} | set(terms("company employer")) <= named
    assert "job" not in of_its_value(fact("user", "lives_in", "Porto"), schema)
