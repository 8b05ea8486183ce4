"""LoCoMo as a task, and chains of updates strewn into it, on a conversation of its format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Reply
from eval.tasks.catalogue import make_task
from eval.tasks.plain_statements import load_plain
from nscma_torch.core.errors import ConfigError

QA: list[dict[str, Any]] = [
    {"question": "What do the two keep?", "answer": "bees, a donkey", "category": 1, "evidence": ["D1:1", "D2:1"]},
    {"question": "When did Una move?", "answer": 2019, "category": 2, "evidence": ["D1:2"]},
    {"question": "Is Una patient?", "answer": "yes; she keeps bees", "category": 3, "evidence": ["D9:9"]},
    {"question": "What does Una read?", "category": 5, "evidence": ["D1:2"], "adversarial_answer": "novels"},
    {"question": "Lost?", "category": 4, "evidence": []},
    {"question": "Nothing known?", "category": 4},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    def conversation(name: str) -> dict[str, Any]:
        turns = [
            {"speaker": "Una", "dia_id": "D1:1", "text": "I keep bees."},
            {"speaker": "Una", "dia_id": "D1:2", "text": "I moved in 2019."},
        ]
        later = [{"speaker": "Osk", "dia_id": f"D2:{i}", "text": f"The donkey ate bucket {i}."} for i in range(1, 31)]
        dates = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_2_date_time": "9:00 am on 9 June, 2023"}
        return {"sample_id": name, "conversation": {"session_1": turns, "session_2": later, **dates}, "qa": QA}

    (tmp_path / "locomo").mkdir()
    file = tmp_path / "locomo" / "locomo_first5.json"
    file.write_text(json.dumps([conversation(f"conv-{i}") for i in (1, 2, 3)]), encoding="utf-8")
    return tmp_path


def test_each_category_is_scored_by_its_own_rule(data: Path) -> None:
    task = make_task({"kind": "locomo"}, data)
    sample = task.sample("conv-1")
    several, when, patient, unknown = sample.questions
    assert [question.category for question in sample.questions] == ["1", "2", "3", "5"]
    assert (when.answers, unknown.answers, several.evidence) == (("2019",), (), (0, 2))
    assert task.score(several, Reply("bee", evidence=(2,)))["F1"] == pytest.approx(0.5), "one of two answers"
    assert task.score(several, Reply("donkeys, bees")) == {"F1": 1.0, "recall@5": 0.0, "recall@10": 0.0}
    assert task.score(when, Reply("in 2019"))["F1"] == pytest.approx(2 / 3)
    assert task.score(patient, Reply("Yes")) == {"F1": 1.0}, "what stands before the semicolon; no evidence left"
    assert task.score(unknown, Reply("", abstained=True)) == {"F1": 1.0}
    assert task.score(unknown, Reply("This is not mentioned.")) == {"F1": 1.0}
    assert task.score(unknown, Reply("novels")) == {"F1": 0.0}


def test_what_cannot_be_used_is_named_and_categories_are_chosen(data: Path) -> None:
    task: Any = make_task({"kind": "locomo", "categories": [2]}, data)
    assert task.malformed[:3] == (
        *("conv-1: question 5: no evidence", "conv-1: D9:9"),
        "conv-1: no answer: Lost?",
    )
    assert [question.id for question in task.sample("conv-2").questions] == ["q1"]


def test_what_an_audit_flags_is_left_out_and_the_other_questions_keep_their_ids(data: Path) -> None:
    flags = [
        {"question_id": "locomo_0_qa0", "question": "What do the two keep?", "error_type": "WRONG_CITATION"},
        {"question_id": "locomo_0_qa1", "question": "When did Una move?", "error_type": "TEMPORAL_ERROR"},
        {"question_id": "locomo_0_qa9", "question": "Who?", "error_type": "AMBIGUOUS"},
        {"question_id": "locomo_7_qa1", "question": "When did Una move?", "error_type": "TEMPORAL_ERROR"},
    ]
    (data / "audit").mkdir()
    with pytest.raises(ConfigError, match=r"holds no errors_conv_N\.json"):
        make_task({"kind": "locomo", "flagged": "audit"}, data)
    (data / "audit" / "errors_conv_0.json").write_text(json.dumps(flags), encoding="utf-8")
    task: Any = make_task({"kind": "locomo", "flagged": "audit"}, data)
    several, patient, unknown = task.sample("conv-1").questions
    assert [several.id, patient.id, unknown.id] == ["q0", "q2", "q3"] and several.evidence == ()
    assert len(task.sample("conv-2").questions) == 4, "of the first conversation alone"
    assert task.malformed[-1] == "conv-1: flagged, but not asked: Who?"
    (data / "audit" / "errors_conv_0.json").write_text('[{"question_id": "first"}]', encoding="utf-8")
    with pytest.raises(ConfigError, match="locomo_0_qa1 is the audit's form"):
        make_task({"kind": "locomo", "flagged": "audit"}, data)


def test_chains_are_strewn_in_their_order_and_only_what_holds_now_is_correct(data: Path) -> None:
    task = make_task({"kind": "updates", "source": "chains", "chains": 8, "rounds": 2}, data)
    samples = [task.sample(id) for id in ("0.conv-1", "1.conv-2")]
    assert samples[0] == task.sample("0.conv-1") and samples[0].questions != samples[1].questions
    for sample in samples:
        assert len(sample.questions) == 8
        dates = [message.timestamp for message in sample.messages]
        assert all(date and date < sample.asked_at for date in dates)
        for question in sample.questions:
            said = [sample.messages[place].content for place in question.evidence]
            assert all(any(value in text for text in said) for value in question.facts["current"])
            (old,) = question.facts["outdated"][0]
            right = task.score(question, Reply(question.answers[0], evidence=question.evidence))
            both = task.score(question, Reply(f"{question.answers[0]}, not {old}", evidence=question.evidence))
            assert (right["correct"], right["updated"], right["outdated"], right["recall@10"]) == (1.0, 1.0, 0.0, 1.0)
            assert (both["correct"], both["updated"], both["outdated"]) == (0.0, 1.0, 1.0)
    texts = [message.content for message in samples[0].messages]
    talk = [text for text in texts if "bucket" in text]
    assert talk == [f"The donkey ate bucket {i}." for i in range(1, 31)], "the conversation itself is as it was"


def test_halves_are_of_conversations_in_every_round_and_names_of_the_odd_pools_in_odd_samples_alone(data: Path) -> None:
    task: Any = make_task({"kind": "updates", "source": "chains", "chains": 4, "rounds": 2}, data)
    assert task.name == "generated updates in LoCoMo's conversations"
    assert task.ids() == ("0.conv-1", "0.conv-2", "0.conv-3", "1.conv-2", "1.conv-1")
    assert task.malformed == ("1.conv-3: left over, its half has more samples than the other",)
    plain = load_plain()
    pools = [{name for pool in plain.pools for name in plain.entries(pool, half)} for half in ("dev", "test")]
    for place, id in enumerate(task.ids()):
        own, others = pools[place % 2], pools[1 - place % 2]
        values = {value for question in task.sample(id).questions for value in question.facts["current"]}
        assert values <= own and not values & (others - own)


def test_a_window_of_sessions_asks_what_lies_within_it_and_keeps_the_half_of_its_conversation(data: Path) -> None:
    task: Any = make_task({"kind": "locomo", "sessions": 1}, data)
    assert task.ids() == ("conv-1.0", "conv-2.0", "conv-3.0")
    window = task.sample("conv-2.0")
    assert [(question.text, question.evidence) for question in window.questions] == [
        ("When did Una move?", (1,)),
        ("What does Una read?", (1,)),
    ]
    assert [message.content for message in window.messages] == ["I keep bees.", "I moved in 2019."]
    assert window.asked_at.isoformat() == "2023-05-09T13:56:30+00:00"
    assert task.malformed[-1] == "conv-3: its evidence is in no one window: Is Una patient?"
    whole: Any = make_task({"kind": "locomo", "sessions": 2}, data)
    assert [whole.sample(id).messages for id in whole.ids()] == [
        make_task({"kind": "locomo"}, data).sample(f"conv-{i}").messages for i in (1, 2, 3)
    ]


def test_places_count_from_the_first_turn_of_a_window(data: Path) -> None:
    file = data / "locomo" / "locomo_first5.json"
    asked = {"question": "Which bucket?", "answer": "bucket 7", "category": 4, "evidence": ["D2:7"]}
    talks = [{**talk, "qa": [*QA, asked]} for talk in json.loads(file.read_text(encoding="utf-8"))]
    file.write_text(json.dumps(talks), encoding="utf-8")
    task: Any = make_task({"kind": "locomo", "sessions": 1, "categories": [4]}, data)
    assert task.ids() == ("conv-1.1", "conv-2.1", "conv-3.1"), "a window that is asked nothing is none"
    sample = task.sample("conv-2.1")
    (place,) = sample.questions[0].evidence
    assert sample.messages[place].content == "The donkey ate bucket 7."
