"""BEAM as a task, and its updates, on a small chat of its format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Question, Reply
from eval.tasks.catalogue import make_task
from nscma_torch.core.errors import ConfigError

SAID = (
    "The kiln is set to 900 degrees, as always on 3 May.",
    "Noted.",
    "I have never fired porcelain.",
    "The kiln is now set to 1,100 degrees.",
    "Yesterday I fired porcelain.",
)
PROBES: dict[str, list[dict[str, Any]]] = {
    "knowledge_update": [
        {
            "question": "To how many degrees is the kiln set?",
            "answer": "1,100 degrees",
            "rubric": ["LLM response should state: 1,100 degrees"],
            "potential_confusion": "The original 900 degrees instead of 1,100 degrees",
            "conversation_references": ["Set to 900 degrees.", "Now 1,100 degrees."],
            "source_chat_ids": {"original_info": [0], "updated_info": [3]},
        },
        {
            "question": "Which glaze do I use?",
            "answer": "Celadon",
            "rubric": ["LLM response should state: pale celadon"],
            "source_chat_ids": {"original_info": [0], "updated_info": [3]},
        },
        {"question": "Lost?", "rubric": ["x"], "source_chat_ids": {"original_info": [0], "updated_info": [77]}},
    ],
    "contradiction_resolution": [
        {
            "question": "Have I fired porcelain?",
            "ideal_answer": "You said both.",
            "rubric": ["LLM response should state: there is contradictory information"],
            "source_chat_ids": {"first_statement": [2], "second_statement": [4]},
        }
    ],
    "abstention": [{"question": "Who owns the kiln?", "ideal_response": "Nothing is said.", "rubric": ["Nothing"]}],
    "preference_following": [
        {"question": "A glaze?", "expected_compliance": "Suggest celadon", "rubric": ["suggests celadon glaze"]},
        {"question": "No rubric?", "expected_compliance": "Suggest celadon"},
        {"rubric": ["no question"]},
    ],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "beam" / "100K" / "1"
    (folder / "probing_questions").mkdir(parents=True)
    turns = [{"id": i, "role": "user", "content": text, "time_anchor": "May-03-2024"} for i, text in enumerate(SAID)]
    (folder / "chat.json").write_text(json.dumps([{"batch_number": 1, "turns": [turns]}]), encoding="utf-8")
    (folder / "probing_questions" / "probing_questions.json").write_text(json.dumps(PROBES), encoding="utf-8")
    return tmp_path


def questions(data: Path, **section: Any) -> tuple[Any, dict[str, Question]]:
    task = make_task(section, data)
    (id,) = task.ids()
    return task, {question.text: question for question in task.sample(id).questions}


def test_nuggets_are_the_words_of_the_rubric_that_a_reply_has(data: Path) -> None:
    task, asked = questions(data, kind="beam")
    assert task.malformed == (
        "chat 1 preference_following 2: no question",
        "chat 1 knowledge_update 2",
        "chat 1: no rubric: No rubric?",
    )
    kiln = asked["To how many degrees is the kiln set?"]
    assert (kiln.answers, kiln.evidence) == (("1,100 degrees",), (0, 3))
    assert task.score(kiln, Reply("1,100 of them", evidence=(1, 3))) == {
        **{"nuggets": 0.5, "words": 3.0},
        "F1": pytest.approx(2 / 5),  # one word in common of 3 and 2
        **{"recall@5": 0.5, "recall@10": 0.5},
    }
    glaze = asked["A glaze?"]
    assert task.score(glaze, Reply("I suggest a celadon")) == {"nuggets": pytest.approx(2 / 3), "words": 4.0}


def test_who_cannot_know_is_right_to_abstain(data: Path) -> None:
    task, asked = questions(data, kind="beam", categories=["abstention"])
    (question,) = asked.values()
    assert question.answers == ()
    assert task.score(question, Reply("", abstained=True)) == {"nuggets": 1.0, "words": 0.0}
    assert task.score(question, Reply("Nothing")) == {"nuggets": 0.0, "words": 1.0}
    with pytest.raises(ConfigError, match="no category"):
        make_task({"kind": "beam", "categories": ["abstinence"]}, data)


@pytest.mark.parametrize(
    ("text", "correct", "updated", "outdated"),
    [
        ("It is set to 1100 degrees.", 1.0, 1.0, 0.0),
        ("900", 0.0, 0.0, 1.0),
        ("From 900 to 1,100 degrees.", 0.0, 1.0, 1.0),
        ("", 0.0, 0.0, 0.0),
    ],
)
def test_an_update_is_the_new_quantity_and_not_the_old_one(
    data: Path, text: str, correct: float, updated: float, outdated: float
) -> None:
    task, asked = questions(data, kind="updates")
    scores = task.score(asked["To how many degrees is the kiln set?"], Reply(text, evidence=(0, 3)))
    assert (scores["correct"], scores["updated"], scores["outdated"], scores["first"]) == (
        *(correct, updated, outdated),
        0.0,
    )
    assert (scores["recall@5"], task.malformed) == (
        1.0,
        ("chat 1 preference_following 2: no question", "chat 1 knowledge_update 2"),
    )


def test_values_without_quantities_are_looked_for_word_by_word(data: Path) -> None:
    task, asked = questions(data, kind="updates")
    glaze = asked["Which glaze do I use?"]
    assert task.score(glaze, Reply("Celadon, the pale one", evidence=(3, 0))) == {
        **{"correct": 1.0, "updated": 1.0, "first": 1.0, "words": 4.0},
        **{"recall@5": 1.0, "recall@10": 1.0},
    }
    assert task.score(glaze, Reply("Celadon"))["correct"] == 0.0


def test_both_sides_of_a_contradiction_are_wanted(data: Path) -> None:
    assert "Have I fired porcelain?" not in questions(data, kind="updates")[1]
    task, asked = questions(data, kind="updates", contradictions=True)
    porcelain = asked["Have I fired porcelain?"]
    assert task.score(porcelain, Reply("?", evidence=(4, 2)))["both"] == 1.0
    assert task.score(porcelain, Reply("?", evidence=(4,))) == {
        **{"both": 0.0, "words": 1.0},
        **{"recall@5": 0.5, "recall@10": 0.5},
    }


def test_missing_data_are_one_error_that_names_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="beam/100K"):
        make_task({"kind": "beam"}, tmp_path)
    (tmp_path / "locomo").mkdir()
    (tmp_path / "locomo" / "locomo_first5.json").write_text('[{"qa": []}]', encoding="utf-8")
    with pytest.raises(ConfigError, match="of another format, it has no 'conversation'"):
        make_task({"kind": "locomo"}, tmp_path)
