"""The controller's fact tool and `ask` hold facts against newer messages on one path, and never differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.controller.controller import Controller
from nscma_torch.controller.tools import MemoryTools
from nscma_torch.core.records import Answer, Scope, Usage
from nscma_torch.llm.prompts.acting import RetrieveSemantic
from tests.helpers.word_reader import WordReader, put_in_place

NOW = datetime(2026, 4, 1, 10, tzinfo=UTC)
LATER = NOW + timedelta(days=90)
HOME = "Ysolde's home is in Kilkenny."
ROOTS = "After all that time in Kilkenny, Ysolde has put down roots in Sibiu."
WHERE = "Where does Ysolde live?"
BUDGET = ("My budget is 3000.", "Actually make that 3500.")
Opener = Callable[..., Controller]


@pytest.fixture
def converse_read_by(converse: Opener, monkeypatch: pytest.MonkeyPatch) -> Opener:
    def opened(reader: WordReader, sure: float = 0.1) -> Controller:
        return converse(config={"reading": put_in_place(reader, monkeypatch, sure)}, flush=True)

    return opened


def told(memory: Memory, *messages: str) -> Memory:
    for day, text in enumerate(messages):
        memory.add(text, user_id="ada", timestamp=NOW + timedelta(days=day), now=NOW + timedelta(days=day))
    memory.flush()
    return memory


def both(memory: Memory, question: str = WHERE) -> tuple[Answer, Answer | None]:
    """What `ask` answers and what the tool finds, without what they cost."""
    asked = memory.ask(question, user_id="ada", now=LATER)
    tool = RetrieveSemantic(action="retrieve_semantic", entity=question)
    finding = MemoryTools(memory, Scope("ada"), top_k=6).semantic(tool, LATER, None)
    found = finding.told
    assert found is None or finding.facts == found.facts
    return replace(asked, usage=Usage()), None if found is None else replace(found, usage=Usage())


@pytest.mark.parametrize(
    ("reader", "sure", "messages", "question", "answer"),
    [
        (WordReader("Sibiu"), 0.1, (HOME, ROOTS), WHERE, "Sibiu\n"),
        (WordReader("Sibiu"), 1.0, (HOME, ROOTS), WHERE, "not sure: "),
        (WordReader("Kilkenny."), 0.1, (HOME, ROOTS), WHERE, "not sure: "),
        (WordReader("Sibiu", "none"), 0.1, (HOME, ROOTS), WHERE, "Kilkenny"),
        (WordReader("Sibiu"), 0.1, (HOME, ROOTS), "Ysolde住在哪里？", "Kilkenny"),
        (WordReader("3500"), 0.1, BUDGET, "What is my budget?", "3500\n"),
        (WordReader("3000"), 0.1, BUDGET, "What is my budget?", "not sure: "),
    ],
)
def test_the_tool_and_ask_never_differ(
    reader: WordReader,
    sure: float,
    messages: tuple[str, ...],
    question: str,
    answer: str,
    converse_read_by: Opener,
) -> None:
    memory = told(converse_read_by(reader, sure).memory, *messages)
    asked, found = both(memory, question)
    assert asked == found and asked.text.startswith(answer)


def test_ask_tells_the_same_however_many_hits_are_wanted(converse_read_by: Opener) -> None:
    also = ("Where does Ysolde live, in Sibiu? I say: Ysolde does live there.", "Ysolde does live well.")
    memory = told(converse_read_by(WordReader("Sibiu")).memory, HOME, ROOTS, *also)
    texts = {memory.ask(WHERE, user_id="ada", now=LATER, top_k=top_k).text for top_k in (1, 10)}
    assert len(texts) == 1


@pytest.mark.parametrize(("sure", "reply"), [(0.1, "Sibiu\n"), (1.0, "not sure: ")])
def test_a_reply_does_not_give_a_stale_fact(sure: float, reply: str, converse_read_by: Opener) -> None:
    controller = converse_read_by(WordReader("Sibiu"), sure)
    told(controller.memory, HOME, ROOTS)
    answer = controller.turn(WHERE, now=LATER)
    assert answer.text.startswith(reply) and answer.evidence[0].text == ROOTS
    assert "2 April 2026" in answer.steps[0].outcome and "is newer than" in answer.steps[0].outcome


def test_the_draft_leaves_it_to_the_facts_where_a_later_turn_names_the_matter(converse_read_by: Opener) -> None:
    controller = converse_read_by(WordReader("sibiu"))
    controller.turn("Ysolde lives in Kilkenny.", now=NOW)
    controller.turn("my dear ysolde has put down roots in sibiu", now=NOW + timedelta(days=1))
    answer = controller.turn(WHERE, now=NOW + timedelta(days=2))
    assert answer.text.startswith("sibiu\n") and answer.draft_uncertainty == 1.0


def test_questions_and_replies_of_the_conversation_hide_no_newer_message(converse_read_by: Opener) -> None:
    """They stand nearer to the question than what answers it, and there may be any number of them."""
    reader = WordReader("Sibiu", "none")
    controller = converse_read_by(reader)
    for day, said in enumerate((HOME, ROOTS, WHERE, *[f"Is Ysolde older than {n}?" for n in range(20)])):
        controller.turn(said, now=NOW + timedelta(days=day))
    reader.change = "replaces"
    asked, found = both(controller.memory)
    assert asked == found and asked.text.startswith("Sibiu\n")
    assert {later for _, later in reader.pairs} == {ROOTS}
    assert all(item.hit.unit.text in (HOME, ROOTS) for item in asked.evidence)


def test_the_next_message_after_a_question_may_speak_of_the_fact(converse_read_by: Opener) -> None:
    controller = converse_read_by(WordReader("sibiu"))
    for day, said in enumerate((HOME, WHERE, "well, make that sibiu")):
        controller.turn(said, now=NOW + timedelta(days=day))
    asked, found = both(controller.memory)
    assert asked == found and asked.text.startswith("sibiu\n")
