"""train/reader: the format of labelled questions, their tokens, and that a run learns and goes on after a stop."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from nscma_torch.core.tensor_files import all_tensors, open_tensors
from nscma_torch.reading.question_model import ASKS, QuestionModel
from nscma_torch.reading.question_network import QuestionNetwork
from nscma_torch.reading.relations import load_relations
from train.reader.labelled_questions import QuestionLineError, read_folder, read_questions
from train.reader.train_questions import Recipe, Training, batch_of, named_otherwise

SCHEMA = load_relations()
NAMES = list(SCHEMA.relations)
TEXT = """# a remark
Where does Ana's sister live now? => object lives_in S=Ana's sister
Is Ben my brother? => whether sibling S=my | O=Ben | T=brother
which country did Ben live in before Oslo => object previous lives_in>part_of S=Ben | B=Oslo
And before that? => again previous
How do I cook rice? => none
"""
RECIPE = {
    "start": "",
    "seed": 1,
    "epochs": 40,
    "learning_rate": 5e-3,
    "encoder_rate": 0.5,
    "own_vectors": 0.5,
    "described": 0.5,
    "other_names": 0.0,
    "batch": 5,
    "bfloat16": False,
    "warmup": 2,
    "weight_decay": 0.0,
    "clip": 1.0,
    "ema": 0.5,
    "log_every": 20,
    "save_every": 10,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "questions").mkdir()
    (tmp_path / "questions" / "ana.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path / "questions"


def test_the_format(folder: Path) -> None:
    sister, ben, country, again, none = read_folder(folder, NAMES)
    assert (sister.asks, sister.relation) == ("object", "lives_in")
    assert sister.text[slice(*sister.slots["S"])] == "Ana's sister"
    assert {letter: ben.text[a:b] for letter, (a, b) in ben.slots.items()} == {"S": "my", "O": "Ben", "T": "brother"}
    assert country.flags == {"previous", "onward"} and country.text[slice(*country.slots["B"])] == "Oslo"
    assert (again.asks, none.asks, none.slots) == ("again", "none", {})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Where do I live?", "QUESTION => LABEL"),
        ("Where do I live? => object", "a label is"),
        ("Where do I live? => what lives_in S=I", "a label is"),
        ("Where do I live? => object dwells S=I", "no relation is named 'dwells'"),
        ("Where do I live? => object lives_in S=me", "does not stand in the question"),
        ("Where do I live? => object lives_in S=liv", "does not stand in the question"),
    ],
)
def test_a_wrong_line_is_an_error_that_names_it(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "q.txt").write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(QuestionLineError, match=said) as error:
        list(read_questions(tmp_path / "q.txt", NAMES))
    assert "q.txt:2:" in str(error.value)


def test_the_questions_of_the_repository_follow_the_format() -> None:
    root = Path("train/reader/questions")
    parts = {name: {q.text for q in read_folder(root / name, NAMES)} for name in ("train", "dev", "test")}
    assert min(map(len, parts.values())) > 250
    assert not parts["test"] & parts["train"] and not parts["dev"] & parts["train"]


def test_slots_are_found_in_the_tokens(folder: Path) -> None:
    tokenizer = QuestionModel(NAMES).tokenizer
    questions = list(read_folder(folder, NAMES))
    ids, mask, truth = batch_of(questions, tokenizer, NAMES)
    assert mask.sum() == sum(len(tokenizer.encode(q.text).ids) for q in questions)
    first, last = truth["first"][1], truth["last"][1]
    words = [tokenizer.decode(ids[1, a : b + 1].tolist()) for a, b in zip(first, last, strict=True)]
    assert words == ["my", "ben", "brother", ""] or words == ["my", "ben", "brother", "[CLS]"]
    assert truth["relation"].tolist()[3:] == [-1, -1] and truth["asks"].tolist()[4] == ASKS.index("none")


def test_other_names_keep_the_slots(folder: Path) -> None:
    _, ben, country, _, none = read_folder(folder, NAMES)
    for question, letter in ((ben, "O"), (country, "S")):
        other = named_otherwise(question, ["Ben", "Wilhelmina"], random.Random(0))
        assert other.text == question.text.replace("Ben", "Wilhelmina")
        assert other.text[slice(*other.slots[letter])] == "Wilhelmina"
        for same in question.slots.keys() - {letter}:
            assert other.text[slice(*other.slots[same])] == question.text[slice(*question.slots[same])]
    assert named_otherwise(none, ["Ben"], random.Random(0)) == none


def test_it_learns_what_it_is_shown_and_goes_on_as_if_it_had_not_been_stopped(folder: Path, tmp_path: Path) -> None:
    recipe = Recipe.model_validate(RECIPE)
    whole = tmp_path / "whole"
    Training(recipe, folder, whole, torch.device("cpu")).run()
    cut = Training(recipe, folder, tmp_path / "cut", torch.device("cpu"))
    cut.run(stop=17)
    Training(recipe, folder, tmp_path / "cut", torch.device("cpu")).run()
    with open_tensors(whole, "", missing="") as one, open_tensors(tmp_path / "cut", "", missing="") as other:
        weights, again = all_tensors(one), all_tensors(other)
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    network = QuestionNetwork.from_pretrained(SCHEMA, whole)
    for question in read_folder(folder, NAMES):
        read = network.read(question.text)
        assert (read.asks, read.relation) == (question.asks, question.relation)
        assert {n: s for n, s in zip("SOTB", read.slots, strict=True) if s} == {
            n: question.text[a:b] for n, (a, b) in question.slots.items()
        }
