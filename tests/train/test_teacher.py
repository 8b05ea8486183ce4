"""train/reader/teacher.py: what a larger reader tells of a student's rows, and a student that learns from it alone."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from nscma_torch.reading.reader import WEIGHTS, Reader
from nscma_torch.reading.reader_input import InputPassage, InputRow, Packer
from nscma_torch.reading.reader_model import CHANGES, KINDS, STANCES, Outputs
from nscma_torch.text.embedders.minilm import bundled_folder, load_tokenizer
from tests.train.test_reader_bases import small_tokenizer
from tests.train.test_train_reader import RECIPE
from train.reader.batches import Group, group_of, padded
from train.reader.dialogue_text import Message
from train.reader.examples import Example, Labelled
from train.reader.exchange_text import Exchange
from train.reader.labelled_questions import LabelledQuestion
from train.reader.recipe import Recipe
from train.reader.teacher import Teacher, distillation_losses
from train.reader.train_reader import Training
from train.reader.unlabelled_examples import unlabelled_examples

CPU = torch.device("cpu")
TEXTS = ("I moved to Porto in May, after years in the cold.", "My sister keeps two lizards and a parrot.")


def taught_by(teacher: str) -> Recipe:
    """A recipe whose one stage has questions without labels."""
    (stage,) = RECIPE["stages"]
    alone = {**stage, "stop_after": 0, "dialogue_epochs": 0, "unlabelled_epochs": 1}
    sizes = {"max_tokens": [64], "batch_tokens": 64, "log_every": 5, "save_every": 100}
    return Recipe.model_validate({**RECIPE, **sizes, "teacher": teacher, "stages": [alone]})


def example(question: str, texts: Sequence[str] = TEXTS) -> Example:
    passages = tuple(Labelled(InputPassage(text, speaker="Ana"), holds=None) for text in texts)
    return Example("test", "read", question, passages)


def asked(question: str, texts: Sequence[str] = TEXTS, tokens: int = 64) -> Group:
    return group_of(example(question, texts), Packer(load_tokenizer(bundled_folder()), tokens), 4)


@pytest.fixture(scope="module")
def teacher() -> Teacher:
    torch.set_num_threads(1)
    return Teacher(WEIGHTS, CPU, bfloat16=False)


def test_a_teacher_with_the_students_tokens_tells_its_own_softmax(teacher: Teacher) -> None:
    groups = [asked("Where does Ana live?", tokens=24), asked("What does Ana's sister keep?")]
    batch = padded(groups)
    told = teacher.reads(batch)
    with torch.no_grad():
        out = Reader.from_pretrained().model(batch.ids, batch.mask, batch.passage)
    at = 0
    for group in groups:
        rows = slice(at, at + len(group.rows))
        at = rows.stop
        for name in ("first", "last"):
            own = getattr(out, name)[rows][batch.spannable[rows]].softmax(0)
            torch.testing.assert_close(getattr(told, name)[rows][batch.spannable[rows]], own, atol=1e-4, rtol=1e-3)
    assert len(groups[0].rows) > 1, "a question's rows share a softmax"
    torch.testing.assert_close(told.answerable, out.answerable.sigmoid(), atol=1e-4, rtol=1e-3)


def test_a_share_goes_to_the_token_that_holds_the_character(teacher: Teacher, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a teacher that splits words into other pieces, whose rows begin in the middle of a passage."""

    def sure(rows: Sequence[InputRow]) -> list[Outputs]:
        return [_sure_of("parrot", row, shown) for row in rows]

    shown: list[str] = []
    packer = Packer(small_tokenizer("deberta-v2"), 512)
    rows = packer.rows

    def noted(question: str, passages: Sequence[InputPassage]) -> list[InputRow]:
        shown.extend(passage.text for passage in passages)
        return rows(question, passages)

    monkeypatch.setattr(packer, "rows", noted)
    monkeypatch.setattr(teacher, "_packer", packer)
    monkeypatch.setattr(teacher, "_outputs", sure)
    long = " ".join(["It rains here all day and all night."] * 6 + [TEXTS[1]])
    group = asked("What does Ana's sister keep?", [long], tokens=40)
    told = teacher.reads(padded([group]))
    row = next(
        i for i, own in enumerate(group.rows) if any(p and long[p.start :].startswith("parrot") for p in own.row.pieces)
    )
    first, last = (group.rows[row].row.pieces[int(shares[row].argmax())] for shares in (told.first, told.last))
    assert first is not None and last is not None
    assert long[first.start :].startswith("parrot")
    assert long[: last.end].endswith("parrot")
    assert torch.isclose(told.first.sum(), torch.tensor(1.0))


def _sure_of(word: str, row: InputRow, shown: Sequence[str]) -> Outputs:
    """Outputs that are sure of the characters of a word in any of the texts that were shown."""
    first, last = torch.full((len(row.ids),), -20.0), torch.full((len(row.ids),), -20.0)
    for i, piece in enumerate(row.pieces):
        for text in shown:
            at = text.find(word)
            if piece is not None and at >= 0 and len(text) >= piece.end:
                first[i] = 20.0 if piece.start == at else first[i]
                last[i] = 20.0 if piece.end == at + len(word) else last[i]
    classes = (torch.zeros(len(names)) for names in (KINDS, STANCES, CHANGES))
    return Outputs(first, last, torch.zeros(len(row.ids)), torch.tensor(3.0), *classes)


def test_a_student_learns_from_a_teacher_alone(tmp_path: Path, teacher: Teacher) -> None:
    recipe = taught_by(str(WEIGHTS))
    questions = ["Where did Ana move to?", "What does Ana's sister keep?"]
    training = Training(recipe, CPU, tmp_path / "student")
    batch = padded([asked(question) for question in questions])

    def far() -> float:
        training.model.eval()
        with torch.no_grad():
            parts = distillation_losses(
                training.model(batch.ids, batch.mask, batch.passage), batch, teacher.reads(batch)
            )
        return float(parts["span"])

    before = far()
    training.run([example(question) for question in questions] * 80)
    assert far() < 0.7 * before
    lines = [json.loads(line) for line in (tmp_path / "student.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {"taught span", "taught evidence", "taught answerable"} == {name for name in lines[-1] if "taught" in name}
    assert "span" not in lines[-1], "there are no labels"


def test_questions_without_labels_need_a_teacher() -> None:
    with pytest.raises(ValidationError, match="need a teacher: name one"):
        taught_by("")


def test_an_exchange_is_asked_what_is_on_its_topic() -> None:
    said = [Message("Ana", text, datetime(2026, 3, 1, 9, n)) for n, text in enumerate(TEXTS)]
    texts = ("How tall is the tower?", "Which lizards does my sister keep?", "When is the meeting?")
    questions = [LabelledQuestion(text, "none", "", frozenset(), {}) for text in texts]
    (example,) = unlabelled_examples([Exchange("one", said)], questions, random.Random(0))
    assert example.question == "Which lizards does my sister keep?"
    assert [labelled.passage.text for labelled in example.passages] == list(TEXTS)
    assert all(labelled.holds is None and not labelled.answers for labelled in example.passages)
