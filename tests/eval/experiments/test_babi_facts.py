"""Loader and scoring of bAbI, on a file of its format with other words."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import torch

from eval.experiments.facts.babi_facts import accuracies, answers
from eval.tasks.babi import load
from nscma_torch.core.records import Fact, Scope
from nscma_torch.reading.question_network import shared_network
from nscma_torch.reading.questions import QuestionReader
from nscma_torch.reading.relations import load_relations

STORIES = (
    "1 Ines walked to the attic.\n2 Ines seized the lamp.\n3 What is Ines carrying? \tlamp\t2\n"
    "4 Ines seized the rope.\n5 What is Ines carrying?\tlamp,rope\t2 4\n6 How many things is Ines carrying?\ttwo\t2 4\n"
    "1 Otto walked to the barn.\n2 Is Otto in the attic?\tno\t1\n3 Why?\tyes\t1\n"
)


def write(folder: Path, text: str) -> Path:
    (folder / "babi").mkdir()
    (folder / "babi" / "qa8_lists-sets_test.txt").write_text(text, encoding="utf-8")
    return folder


def test_stories_begin_with_line_one_and_questions_know_their_place(tmp_path: Path) -> None:
    first, second = load(write(tmp_path, STORIES), 8)
    assert [message.content for message in first.messages] == [
        *("Ines walked to the attic.", "Ines seized the lamp.", "Ines seized the rope.")
    ]
    assert [question.answer for question in first.questions] == ["lamp", "lamp,rope", "two"]
    assert first.messages[1].timestamp is not None
    assert first.messages[1].timestamp + timedelta(minutes=1) == first.questions[0].at
    assert (first.name, second.name) == ("qa8-1", "qa8-2")
    assert len(second.messages) == 1


@pytest.mark.parametrize("text", ["no number\n", "2 Ines left.\n", "1 Ines left.\textra\n"])
def test_a_line_of_another_format_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match="qa8, line 1"):
        load(write(tmp_path, text), 8)


def test_questions_are_answered_as_of_their_place(tmp_path: Path) -> None:
    first, second = load(write(tmp_path, STORIES), 8)
    schema = load_relations()
    reader = QuestionReader(schema, lambda: shared_network(schema, torch.device("cpu")))

    def held(thing: str, place: int) -> Fact:
        at = first.messages[place].timestamp
        assert at is not None
        return Fact(
            thing, Scope("u"), thing, "held_by", "Ines", "", at, None, at, None, "active", 0.9, 1, place, ("e",)
        )

    outcomes = answers(first, [held("the lamp", 1), held("rope", 2)], reader, schema)
    assert [outcome.given for outcome in outcomes] == ["the lamp", "the lamp, rope", "two"]
    assert accuracies(outcomes) == {"even": 1.0, "odd": 1.0, "all": 1.0}
    at = second.messages[0].timestamp
    assert at is not None
    where = Fact("f", Scope("u"), "Otto", "located_in", "barn", "", at, None, at, None, "active", 0.9, 1, 1, ("e",))
    outcomes = answers(second, [where], reader, schema)
    assert [outcome.given for outcome in outcomes] == ["no", None]
    assert accuracies(outcomes) == {"even": 1.0, "odd": 0.0, "all": 0.5}
