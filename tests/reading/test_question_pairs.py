"""Questions of a conversation with the turn that answers, by the trained reader."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import torch

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.protocols import QuestionTasks
from nscma_torch.core.records import QAPair, Scope, Unit
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.reading.question_pairs import AdjacentPairs
from nscma_torch.reading.reader import shared_reader

SAID = datetime(2026, 5, 14, 10, tzinfo=UTC)


def talk(*turns: tuple[str, str]) -> list[Unit]:
    return [
        Unit(f"{i}", Scope("ada"), "chunk", text, (f"{i}",), SAID + timedelta(minutes=i), "user", name, end=len(text))
        for i, (name, text) in enumerate(turns)
    ]


@pytest.fixture(scope="module")
def pairs() -> AdjacentPairs:
    return AdjacentPairs(lambda: shared_reader(None, torch.device("cpu"), torch.float32))


def found(pairs: AdjacentPairs, *turns: tuple[str, str]) -> list[QAPair]:
    (own,) = pairs.find([talk(*turns)])
    return own


def test_a_question_and_the_sentence_that_answers_it(pairs: AdjacentPairs) -> None:
    (pair,) = found(
        pairs,
        ("Ben", "The garden is done. Where did you buy the apple trees?"),
        ("Mia", "Glad to hear it. I bought them at the nursery in Lund yesterday. Do you like pears?"),
    )
    assert pair == QAPair(
        "Ben asks Mia: Where did you buy the apple trees?",
        "Mia: I bought them at the nursery in Lund yesterday [13 May 2026].",
        (0, 1),
        "Mia, Where did you buy the apple trees?",
        "Ben",
        (0,),
    )
    assert pair.text.split("\n") == [pair.question, pair.answer]


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("Where did you buy it so cheaply?", "I bought the trees at the nursery in Lund."),  # "it" is told elsewhere
        ("What band?", "The band is called Summer Sounds."),  # too few words to be found by
        ("Where did you buy the apple trees?", "Ha, the nursery in Lund, where else would I buy trees?"),  # asks back
        ("Do you like apple trees?", "Absolutely!"),  # tells nothing by itself
        ("Where did you buy the apple trees?", "I am 42 years old."),
        ("你在哪里买的苹果树？", "I bought the trees at the nursery in Lund."),
    ],
)
def test_no_pair(pairs: AdjacentPairs, question: str, reply: str) -> None:
    assert found(pairs, ("Ben", question), ("Mia", reply)) == []


def test_nobody_answers_himself_or_across_groups(pairs: AdjacentPairs) -> None:
    asked, told = ("Ben", "Where did you buy the apple trees?"), "I bought the apple trees at the nursery in Lund."
    assert len(found(pairs, asked, ("Mia", told))) == 1
    assert found(pairs, asked, ("Ben", told)) == []
    assert pairs.find([talk(asked), talk(("Mia", told)), []]) == [[], [], []]


def test_the_embedded_tasks_need_a_reader(pairs: AdjacentPairs) -> None:
    assert isinstance(EmbeddedTasks(), QuestionTasks)
    with pytest.raises(ConfigError, match=r"question_pairs\.enabled needs a reader"):
        EmbeddedTasks().pairs([talk(("Ben", "Where is it?"))])
    assert EmbeddedTasks(question_pairs=pairs).pairs([[]]) == [[]]
