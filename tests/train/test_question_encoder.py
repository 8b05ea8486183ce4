"""train/queries: a question is drawn towards the messages that answer it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from train.queries.train_question_encoder import QuestionTraining, Recipe, answered
from train.reader.dialogue_text import Dialogue, read_dialogues

_TEXT = """== chat-001 | friends
-- 2025-03-02 18:40
1 Maya: started at the bakery on monday, my feet hurt
2 Tom: nice! and Clara?
3 Maya: she moved to Lyon
? current Where does Maya work? | the bakery / bakery | 1
? when When did Maya start there? | 2025-02-24 / 24 February | 1 2 | said: on monday
? unanswerable What is Tom's brother called? | - | -
"""
_RECIPE = Recipe(
    seed=0,
    rank=2,
    epochs=12,
    chat_epochs=1,
    keywords=0.0,
    learning_rate=3e-3,
    weight_decay=0.0,
    warmup=1,
    batch=2,
    temperature=0.05,
    others=4,
    bfloat16=False,
    log_every=6,
)


@pytest.fixture
def dialogue(tmp_path: Path) -> Dialogue:
    (tmp_path / "one.txt").write_text(_TEXT, encoding="utf-8")
    return next(read_dialogues(tmp_path / "one.txt"))


def test_answers_are_the_messages_with_the_words_that_carry_them(dialogue: Dialogue) -> None:
    assert list(answered(dialogue)) == [("Where does work?", (0,)), ("When did start there?", (0,))]


def test_training_draws_questions_to_their_answers(dialogue: Dialogue, tmp_path: Path) -> None:
    training = QuestionTraining(_RECIPE)
    (asked,) = training.asked([dialogue])
    assert asked.vectors.shape == (3, 384) and asked.answers == ((0,), (0,))
    before = training.encoded(training.encoder, asked.questions) @ asked.vectors.T
    training.run([asked], tmp_path)
    after = training.encoded(training.encoder, asked.questions) @ asked.vectors.T
    assert ((after[:, 0] - after[:, 1:].amax(1)) > (before[:, 0] - before[:, 1:].amax(1))).all()
    assert (tmp_path / "log.jsonl").read_text().count("loss") == 2


def test_some_questions_are_reduced_to_their_content_words() -> None:
    training = QuestionTraining(_RECIPE.model_copy(update={"keywords": 1.0}))
    assert training._drawn("Where is my brother's new flat?", random.Random(0)) == "brother's new flat"
    assert training._drawn("Who is it?", random.Random(0)) == "Who is it?"
