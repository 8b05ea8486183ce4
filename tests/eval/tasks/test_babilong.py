"""BABILong: the construction of its samples, on stories and books of our own, and its options."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Reply, Sample
from eval.tasks.background import LEAST, Background
from eval.tasks.catalogue import make_task
from nscma_torch.core.errors import ConfigError

STORY = (
    "1 Ada went to the cellar.\n2 Ben took the lamp.\n3 Where is Ada? \tcellar\t1\n"
    "4 Ben went to the attic.\n5 Where is the lamp? \tattic\t2 4\n"
)
STORIES = 7
LINE = "The carriage number {i} rolled slowly on through the grey and silent streets of the old town."


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "babi").mkdir()
    (tmp_path / "novels").mkdir()
    for task in (1, 2):
        (tmp_path / "babi" / f"qa{task}_x_test.txt").write_text(STORY * STORIES, encoding="utf-8")
    for book in range(3):
        text = "\n\n".join(f"Short {i}. {LINE.format(i=100 * book + i)}" for i in range(40))
        (tmp_path / "novels" / f"book{book}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def drawn(data: Path, **section: Any) -> list[Sample]:
    task = make_task({"kind": "babilong", "tasks": ["qa1"], "samples": 6, **section}, data)
    return [task.sample(id) for id in task.ids()]


def test_at_length_0_there_are_the_statements_before_the_question_alone(data: Path) -> None:
    told = "Ada went to the cellar. Ben took the lamp."
    asked = {"Where is Ada?": ("cellar", told), "Where is the lamp?": ("attic", f"{told} Ben went to the attic.")}
    seen = set()
    for sample in drawn(data):
        (message,), (question,) = sample.messages, sample.questions
        seen.add(question.text)
        assert (*question.answers, message.content) == asked[question.text]
    assert seen == set(asked), "questions of a story are drawn"


def test_a_story_is_asked_once_and_halves_are_of_different_stories(data: Path) -> None:
    task = make_task({"kind": "babilong", "tasks": ["qa2", "qa1"], "samples": 6}, data)
    ids = [id.split("-") for id in task.ids()]
    assert [name for name, _ in ids] == ["qa2", "qa2", "qa1", "qa1"] * 3, "the first ones are of all tasks"
    assert [int(number) % 2 for _, number in ids] == [0, 1] * 6, "a place has the parity of its story"
    for name in ("qa1", "qa2"):
        stories = {int(number) for own, number in ids if own == name}
        assert len(stories) == 6 and stories <= set(range(STORIES))


def test_statements_keep_their_order_among_sentences_and_are_the_evidence(data: Path) -> None:
    told = ["Ada went to the cellar.", "Ben took the lamp.", "Ben went to the attic."]
    samples = drawn(data, length=300, form="sentences")
    places = []
    for sample in samples:
        texts = [message.content for message in sample.messages]
        heard = told[: 2 if sample.questions[0].text == "Where is Ada?" else 3]
        assert [text for text in texts if text in told] == heard
        assert not any(text.startswith("Short") for text in texts), f"sentences under {LEAST} tokens are left out"
        expected = ["Ben took the lamp.", "Ben went to the attic."] if len(heard) == 3 else ["Ada went to the cellar."]
        assert [texts[place] for place in sample.questions[0].evidence] == expected
        places.append(sample.questions[0].evidence)
        assert sample.asked_at > sample.messages[-1].timestamp  # type: ignore[operator]
    assert len(set(places)) > 2, "places are drawn for each sample"


def test_a_sample_has_the_tokens_that_were_asked_for_and_is_one_document(data: Path) -> None:
    count = Background(data / "novels").count
    for length in (200, 5000):  # the second goes round all books more than once
        for sample in drawn(data, length=length):
            (message,) = sample.messages
            assert message.role == "document" and abs(count(message.content) - length) <= 1


def test_background_is_consecutive_and_goes_on_with_the_next_book(data: Path) -> None:
    numbers = [
        int(text.split()[3])
        for text in (m.content for m in drawn(data, length=5000, form="sentences")[0].messages)
        if text.endswith("town.")
    ]
    order = [100 * book + i for book in range(3) for i in range(40)]
    start = order.index(numbers[0])
    assert numbers == [order[(start + i) % len(order)] for i in range(len(numbers))]


def test_the_end_of_a_line_is_no_end_of_a_sentence(tmp_path: Path) -> None:
    lines = [LINE.format(i=i).replace("slowly on", "slowly\non") for i in range(30)]
    (tmp_path / "book.txt").write_text("\n".join(lines[:15]) + "\n\n" + "\n".join(lines[15:]), encoding="utf-8")
    background = Background(tmp_path)
    taken = background.sample(400, random.Random(0))
    assert len(taken) > 10 and all(" slowly on " in sentence and sentence.endswith("town.") for sentence in taken[:-1])


def test_samples_depend_on_seed_task_and_number_alone(data: Path) -> None:
    both = make_task({"kind": "babilong", "tasks": ["qa2", "qa1"], "samples": 4, "length": 200}, data)
    alone = make_task({"kind": "babilong", "tasks": ["qa1"], "samples": 2, "length": 200}, data)
    other = make_task({"kind": "babilong", "tasks": ["qa1"], "samples": 6, "length": 200, "seed": 2}, data)
    shared = alone.ids()[1]
    assert both.ids()[2:4] == alone.ids(), "fewer samples are the first of more"
    assert both.sample(shared) == alone.sample(shared) != other.sample(shared)


def test_scores_need_the_answer_alone(data: Path) -> None:
    task = make_task({"kind": "babilong", "tasks": ["qa1"], "samples": 2, "form": "sentences"}, data)
    (question,) = task.sample(task.ids()[1]).questions
    question = type(question)("q0", "Where is Ada?", ("kitchen",), "qa1", evidence=(1, 2))
    assert task.score(question, Reply("In the kitchen.", evidence=(2, 0, 3))) == {
        **{"accuracy": 1.0, "official": 1.0},
        **{"recall@5": 0.5, "recall@10": 0.5},
    }
    assert task.score(question, Reply("Kitchen or garden"))["accuracy"] == 0.0
    assert task.score(question, Reply("", abstained=True))["accuracy"] == 0.0


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"kind": "babylon"}, "did you mean 'babilong'"),
        ({"kind": "babilong", "lenght": 5}, "unknown key 'lenght'; did you mean 'length'"),
        ({"kind": "babilong", "length": -1}, "length"),
        ({"kind": "babilong", "samples": 3}, "samples"),
        ({"kind": "babilong", "tasks": ["qa11"]}, "qa11"),
        ({"kind": "babilong", "length": 10, "books": "none"}, "holds no book"),
        ({"kind": "babilong", "length": 10, "tokenizer": "gone.json"}, "no tokenizer.json"),
    ],
)
def test_bad_options_are_one_clear_error(data: Path, section: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        make_task(section, data)


def test_missing_files_and_questions_are_named(data: Path) -> None:
    with pytest.raises(ConfigError, match="qa3"):
        make_task({"kind": "babilong", "tasks": ["qa3"]}, data).ids()
    with pytest.raises(ConfigError, match=r"qa1 has 7 stories, .* samples = 100; ask for at most 6"):
        make_task({"kind": "babilong", "tasks": ["qa1"]}, data).ids()
    (data / "novels" / "book0.txt").write_text("Too short. " * 30, encoding="utf-8")
    for name in ("book1", "book2"):
        (data / "novels" / f"{name}.txt").unlink()
    with pytest.raises(ConfigError, match="has 10 tokens"):
        drawn(data, length=100)
