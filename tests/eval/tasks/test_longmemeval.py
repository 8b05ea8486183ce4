"""LongMemEval, on instances of its format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Reply
from eval.tasks.catalogue import make_task
from nscma_torch.core.errors import ConfigError


def instance(id: str, kind: str, **changed: Any) -> dict[str, Any]:
    sessions = [
        [{"role": "user", "content": "I bought a kayak.", "has_answer": True}, {"role": "assistant", "content": "Oh."}],
        [{"role": "user", "content": "What is a loom?"}, {"role": "assistant", "content": "A frame."}],
        [{"role": "user", "content": "It is blue.", "has_answer": True}],
    ]
    own = {
        "question_id": id,
        "question_type": kind,
        "question": "What did I buy?",
        "answer": "a blue kayak",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer_session_ids": ["answer_1", "answer_2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/01 (Mon) 10:00", "2023/05/21 (Sun) 02:57"],
        "haystack_session_ids": ["answer_1", "filler_9", "answer_2"],
        "haystack_sessions": sessions,
    }
    return {**own, **changed}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        instance("q1", "multi-session"),
        instance("q2_abs", "multi-session", answer="You did not say."),
        instance("q3", "knowledge-update", haystack_dates=["2023/05/20 (Sat) 02:21"]),
        instance("q4", "knowledge-update", question_date="tomorrow"),
        {"question_id": "q5"},
        instance("q6", "knowledge-update", answer=4),
    ]
    (tmp_path / "longmemeval").mkdir()
    (tmp_path / "longmemeval" / "longmemeval_s.json").write_text(json.dumps(rows), encoding="utf-8")
    return tmp_path


def test_sessions_are_read_by_their_dates(data: Path) -> None:
    task: Any = make_task({"kind": "longmemeval"}, data)
    assert task.ids() == ("q1", "q2_abs"), "q6 has an odd number, and no even one is left to stand before it"
    sample = task.sample("q1")
    assert [message.session for message in sample.messages] == ["filler_9"] * 2 + ["answer_1"] * 2 + ["answer_2"]
    assert [message.role for message in sample.messages][:2] == ["user", "assistant"]
    (question,) = sample.questions
    assert (question.evidence, question.category, question.answers) == ((2, 4), "multi-session", ("a blue kayak",))
    assert sample.asked_at.isoformat() == "2023-05-30T23:40:00+00:00"
    assert task.sample("q6").questions[0].answers == ("4",)


def test_what_cannot_be_used_is_named(data: Path) -> None:
    task: Any = make_task({"kind": "longmemeval"}, data)
    assert task.malformed[:2] == ("instance 2: haystack lists of different lengths", "instance 3: not a date: tomorrow")
    assert task.malformed[2].startswith("instance 4: no question_type, ")
    assert task.malformed[3:] == ("q6: left over, its half has more samples than the other",)
    (data / "longmemeval" / "longmemeval_s.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="not a list of instances"):
        make_task({"kind": "longmemeval"}, data)


def test_retrieval_is_of_sessions_and_abstention_is_its_own_category(data: Path) -> None:
    task: Any = make_task({"kind": "longmemeval"}, data)
    (question,) = task.sample("q1").questions
    scores = task.score(question, Reply("You bought a blue kayak.", evidence=(1, 0, 3)))
    assert (scores["contains"], scores["F1"]) == (1.0, pytest.approx(2 * 2 / 6))
    assert (scores["recall_any@5"], scores["recall_all@5"]) == (1.0, 0.0)
    assert scores["ndcg_any@5"] == pytest.approx(1 / 2), "session at rank 2 of two that are wanted: 1 of 1 + 1"
    (unknown,) = task.sample("q2_abs").questions
    assert (unknown.category, unknown.answers) == ("abstention", ())
    assert task.score(unknown, Reply("", abstained=True)) == {"contains": 1.0, "words": 0.0}
    assert task.score(unknown, Reply("a kayak")) == {"contains": 0.0, "words": 2.0}
    assert scores["words"] == 5.0
    with pytest.raises(ConfigError, match=r"no sample in .* \(3 malformed; instance 2: haystack"):
        make_task({"kind": "longmemeval", "types": ["knowledge"]}, data)


def test_an_instance_is_of_the_same_half_whichever_types_are_asked(data: Path) -> None:
    kinds = ["multi-session", "knowledge-update", "knowledge-update", "multi-session", "knowledge-update"]
    rows = [instance(f"q{i}", kind) for i, kind in enumerate([*kinds, "knowledge-update", "knowledge-update"])]
    (data / "longmemeval" / "longmemeval_s.json").write_text(json.dumps(rows), encoding="utf-8")
    everything: Any = make_task({"kind": "longmemeval"}, data)
    assert everything.ids() == tuple(f"q{i}" for i in range(7)) and not everything.malformed
    updates: Any = make_task({"kind": "longmemeval", "types": ["knowledge-update"]}, data)
    assert updates.ids() == ("q2", "q1", "q4", "q5", "q6")
    both: Any = make_task({"kind": "longmemeval", "types": ["multi-session"]}, data)
    assert both.ids() == ("q0", "q3")
