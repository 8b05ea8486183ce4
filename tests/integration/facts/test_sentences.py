"""Facts of plain sentences, the NSCMA paper's figure 1 among them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import ReadingConfig
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.reading.read_statements import configured_facts
from nscma_torch.reading.relations import load_relations
from tests.helpers.noting import day, held, log, tell

Open = Callable[..., Memory]


@pytest.fixture(scope="module")
def reader() -> EmbeddedTasks:
    """The bundled networks; no notation."""
    return EmbeddedTasks(read_facts=configured_facts(ReadingConfig(), load_relations(), torch.device("cpu")))


def test_plain_sentences(noted: Open, reader: EmbeddedTasks) -> None:
    memory = noted(tasks=reader)
    for at, name, text in (
        (1, "Ben", "I live in Rome. I work at Acme and I like tea."),
        (20, "Anna", "Ben lives in Rome, doesn't he?"),
        (40, "Ben", "I moved from Rome to Oslo."),
        (50, "Ben", "I don't like tea any more."),
    ):
        tell(memory, text, at, name=name)
    assert held(memory, "lives_in", subject="Ben") == ["Oslo"]
    assert held(memory, "lives_in", subject="Ben", as_of=day(10)) == ["Rome"]
    assert held(memory, "works_at", subject="Ben") == ["Acme"]
    assert held(memory, "likes", subject="Ben") == []
    assert "Oslo" in memory.ask("Where does Ben live?", user_id="ada", now=day(60)).text
    assert "Rome" in memory.ask("Where did Ben live?", user_id="ada", now=day(60), as_of=day(10)).text


@pytest.mark.parametrize(
    "said, question, then, old, new",
    [
        (
            ("My favourite colour is red.", "My favourite colour changed from red to blue."),
            "What is my favourite colour?",
            "And before that?",
            "red",
            "blue",
        ),
        (
            ("我最喜欢的颜色是红色。", "我最喜欢的颜色从红色变成了蓝色。"),
            "我最喜欢的颜色是什么？",
            "之前呢？",
            "红色",
            "蓝色",
        ),
    ],
)
def test_figure_1(
    said: tuple[str, str], question: str, then: str, old: str, new: str, noted: Open, reader: EmbeddedTasks
) -> None:
    memory = noted(tasks=reader)
    for text, at in zip(said, (1, 60), strict=True):
        memory.add(text, user_id="ada", timestamp=day(at), now=day(at))
    memory.flush()
    was, now = memory.timeline("user", "favourite", user_id="ada")
    assert [(was.object, was.status), (now.object, now.status)] == [(old, "archived"), (new, "active")]
    assert (was.valid_from, was.valid_to, now.valid_from, now.valid_to) == (day(1), day(60), day(60), None)
    assert log(memory)[-1].action == "UPDATE" and old in log(memory)[-1].reason
    answer = memory.ask(question, user_id="ada", now=day(61))
    assert new in answer.short and [fact.object for fact in answer.facts] == [new]
    assert memory.get(answer.evidence[0].hit.id, user_id="ada").text == said[1]  # type: ignore[union-attr]
    before = memory.ask(then, user_id="ada", now=day(61), follows=answer)
    assert old in before.text and [fact.object for fact in before.facts] == [old]
    earlier = memory.ask(question, user_id="ada", now=day(61), as_of=day(30))
    assert old in earlier.text and [fact.object for fact in earlier.facts] == [old]


@pytest.mark.parametrize(
    "text",
    [
        *("I live in a house with my parents.", "I live in a small flat.", "I moved to a new apartment last week."),
        *("I live on the second floor.", "I'm staying in a hotel this week.", "I'm living in a nightmare."),
    ],
)
def test_a_home_that_is_described_is_in_the_town_that_was_named(noted: Open, reader: EmbeddedTasks, text: str) -> None:
    memory = noted(tasks=reader)
    for at, said in enumerate(["I live in Ghent.", text]):
        tell(memory, said, at)
    assert held(memory, "lives_in") == ["Ghent"]
    tell(memory, "I moved to Bath last week, I live there now.", 9)
    assert held(memory, "lives_in") == ["Bath"]
