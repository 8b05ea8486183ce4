"""train/reader: chats in JSON keep every label, and their examples hold what a search would find."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import KINDS
from train.reader import stage_examples
from train.reader.chat_examples import searched_example
from train.reader.chat_files import read_chat
from train.reader.dialogue_examples import change_examples, change_questions, labelled
from train.reader.dialogue_text import Change, Dialogue
from train.reader.recipe import Recipe
from train.reader.searched_passages import Searched, searched_passages
from train.reader.stage_examples import Folders

_SAID = (
    ("Ada", "still at the bakery, my feet hurt"),
    ("Bot", "Noted. Shall I look for another job?"),
    ("Ada", "no. Tom asked me to come to his shop"),
    ("Ada", "so i'm behind his counter since monday, rent is 400. no wait, 420"),
)
_QUESTIONS: list[dict[str, Any]] = [
    {
        "question": "Where do I earn my money?",
        "type": "current",
        "answer": ["Tom's shop", "his shop"],
        "evidence": [3, 4],
        "said": [[4, "behind his counter"]],
        "stale": ["the bakery"],
    },
    {
        "question": "Who has been named?",
        "type": "list",
        "answer": ["Ada, Tom", "Tom and the bot"],
        "evidence": [3],
        "said": [[3, "Tom"]],
        "stale": [],
        "all": True,
    },
    {"question": "What is Tom's wife called?", "type": "unanswerable", "answer": None, "evidence": [], "stale": []},
]
_CHANGES: list[dict[str, Any]] = [
    {"kind": "replaces", "new": [4, "his counter"], "old": [1, "the bakery"], "topic": "my place of work"},
    {"kind": "corrects", "new": [4, "420"], "old": [4, "400"], "topic": "the rent"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        {
            "role": "assistant" if name == "Bot" else "user",
            "name": name,
            "content": text,
            "timestamp": f"2025-05-0{day}T10:00:00Z",
        }
        for day, (name, text) in enumerate(_SAID, 1)
    ]
    (tmp_path / "chat-01.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (tmp_path / "questions-01.json").write_text(json.dumps(_QUESTIONS))
    (tmp_path / "changes-01.json").write_text(json.dumps(_CHANGES))
    return tmp_path


@pytest.fixture
def chat(folder: Path) -> Dialogue:
    return read_chat(folder / "chat-01.jsonl")


def test_a_chat_is_read_whole(chat: Dialogue) -> None:
    assert [(m.speaker, m.role) for m in chat.messages][:2] == [("Ada", "user"), ("Bot", "assistant")]
    works, named, wife = chat.questions
    assert (works.gold, works.said) == ((("Tom's shop", "his shop"),), ((4, "behind his counter"),))
    assert named.gold == (("Ada",), ("Tom",)) and named.also == ((("Tom",), ("the bot",)),)
    assert wife.gold == () and wife.said == ()
    assert chat.changes[0] == Change("replaces", 4, 1, "my place of work", "the bakery", "his counter")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"said": [[4, "in front of"]]}, "does not say"),
        ({"evidence": [5]}, "none of the 4 messages"),
        ({"answer": None}, "must have a gold answer"),
        ({"said": [[1, "bakery"]]}, "must stand in its evidence"),
    ],
)
def test_a_label_that_the_chat_does_not_bear_out_is_refused(folder: Path, change: dict[str, Any], message: str) -> None:
    (folder / "questions-01.json").write_text(json.dumps([_QUESTIONS[0] | change]))
    with pytest.raises(InvalidInputError, match=message):
        read_chat(folder / "chat-01.jsonl")


def test_a_change_of_an_unknown_kind_is_refused(folder: Path) -> None:
    (folder / "changes-01.json").write_text(json.dumps([_CHANGES[0] | {"kind": "renames"}]))
    with pytest.raises(InvalidInputError, match="renames"):
        read_chat(folder / "chat-01.jsonl")


def test_the_words_that_were_said_are_the_answer(chat: Dialogue) -> None:
    works = chat.questions[0]
    text = chat.messages[3].text
    spans = labelled(InputPassage(text, "Ada"), works, 4).answers
    assert [text[span.start : span.end] for span in spans] == ["behind his counter"]
    assert labelled(InputPassage(chat.messages[2].text, "Ada"), works, 3).answers == ()  # evidence without the answer
    assert labelled(InputPassage(chat.messages[2].text, "Ada"), works, 3).holds


def _found(chat: Dialogue, *numbers: int) -> Searched:
    passages = tuple(InputPassage(chat.messages[n - 1].text, chat.messages[n - 1].speaker, rank=n) for n in numbers)
    return Searched(passages, numbers)


def test_a_question_is_answerable_only_with_its_evidence(chat: Dialogue) -> None:
    works, _, wife = chat.questions
    whole = searched_example(chat, works, _found(chat, 1, 3, 4), None)
    assert whole is not None and whole.kind == KINDS.index("span")
    assert [p.holds for p in whole.passages] == [False, True, True]
    without = searched_example(chat, works, _found(chat, 1, 2), None)
    assert without is not None and without.kind is None and not any(p.holds for p in without.passages)
    assert searched_example(chat, works, _found(chat, 1, 3), None) is None  # only part of the evidence
    untold = searched_example(chat, wife, _found(chat, 3, 4), None)
    assert untold is not None and untold.kind is None


def test_missing_evidence_is_mostly_added_in_training(chat: Dialogue) -> None:
    rng = random.Random(1)
    found = [searched_example(chat, chat.questions[0], _found(chat, 1, 2), rng) for _ in range(60)]
    answered = sum(one is not None and one.kind is not None for one in found)
    assert 20 < answered < 50


def test_the_last_value_of_a_topic_is_asked_for_both_ways(chat: Dialogue) -> None:
    rng = random.Random(0)
    chat.changes.insert(0, Change("replaces", 3, 1, "the rent", "380", "400"))
    asked = {(q.text.split(" ", 1)[1], q.gold[0][0]) for _ in range(40) for q in change_questions(chat, rng)}
    assert ("my place of work still the bakery?", "no") in asked
    assert ("the rent 420?", "yes") in asked
    assert all((answer == "no") == ("bakery" in text or "400" in text) for text, answer in asked)
    assert not any("380" in text for text, _ in asked)


def test_a_correction_in_the_same_message_is_no_change_of_an_earlier_one(chat: Dialogue) -> None:
    texts = [example.question for example in change_examples(chat, random.Random(0))]
    assert texts[0] == "Ada: still at the bakery, my feet hurt" and not any("420" in text for text in texts)


def test_a_stage_reads_chats_as_often_as_it_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_examples, "drawn_examples", lambda *_: iter(()))
    recipe = tomllib.loads(Path("configs/train/reader.toml").read_text(encoding="utf-8"))
    stage = recipe["stages"][0] | {"dialogue_epochs": 0, "chat_epochs": 3}
    chosen = Recipe.model_validate(recipe | {"stages": [stage]})
    assert list(stage_examples.missing_folders(chosen, Folders(folder))) == ["chats"]
    examples = stage_examples.stage_examples(chosen, 0, Folders(folder, chats=folder))
    asked = [example.question for example in examples if example.task == "read"]
    assert asked.count("Ada asks: What is Tom's wife called?") == 3
    assert sum(example.task == "change" for example in examples) >= 3


def test_a_search_gives_each_question_the_passages_that_the_reader_reads(chat: Dialogue) -> None:
    found = list(searched_passages(chat))
    assert len(found) == 3
    assert [p.text for p in found[0].passages] == [chat.messages[n - 1].text for n in found[0].numbers]
    assert found[0].numbers == (1, 2, 3, 4)
