"""HaluMem, PersonaMem, PrefEval and REALTALK, on small files of their formats."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Reply
from eval.tasks.catalogue import make_task
from nscma_torch.core.errors import ConfigError


def write(path: Path, content: Any, *, lines: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in content) if lines else json.dumps(content)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def halumem(tmp_path: Path) -> Path:
    def turn(role: str, text: str, time: str | None) -> dict[str, Any]:
        return {"role": role, "content": text, **({"timestamp": time} if time else {})}

    def user(name: str) -> dict[str, Any]:
        known = {"question": "Which boat?", "answer": "a kayak", "question_type": "Basic Fact Recall"}
        unknown = {"question": "Which car?", "answer": "Unknown.", "question_type": "Memory Boundary", "evidence": []}
        first = {
            "start_time": "Sep 03, 2025, 09:00:00",
            "dialogue": [turn("user", "I bought a kayak.", "Sep 03, 2025, 09:05:00"), turn("assistant", "Oh.", None)],
            "questions": [{**known, "evidence": [{"memory_content": "Una has a kayak."}]}, {"question": "Lost?"}],
        }
        second = {"start_time": "Oct 01, 2025, 10:00:00", "dialogue": [turn("user", "Sums, please.", None)]}
        third = {
            "start_time": "Oct 02, 2025, 10:00:00",
            "dialogue": [turn("user", "I sold the kayak.", "Oct 02, 2025, 10:00:00")],
            "questions": [unknown],
        }
        return {"uuid": name, "sessions": [first, second, third]}

    late = {"uuid": "u2", "sessions": [{"start_time": "3 Sep", "dialogue": []}]}
    write(tmp_path / "halumem" / "HaluMem-Medium.jsonl", [user("u0"), user("u1"), late, {}], lines=True)
    return tmp_path


def test_halumem_asks_each_question_when_its_session_has_ended(halumem: Path) -> None:
    task: Any = make_task({"kind": "halumem"}, halumem)
    assert task.ids() == ("u0.0", "u1.0", "u0.2", "u1.2"), "users of both halves in turn"
    first, third = task.sample("u0.0"), task.sample("u0.2")
    assert [message.content for message in first.messages] == ["I bought a kayak.", "Oh."]
    assert first.messages[1].timestamp == first.messages[0].timestamp, (
        "a turn without a time has that of the one before"
    )
    assert [message.session for message in third.messages] == ["0", "0", "1", "2"]
    (boat,), (car,) = first.questions, third.questions
    assert (boat.answers, boat.facts["reference"], car.answers) == (("a kayak",), "Una has a kayak.", ())
    assert task.score(boat, Reply("You bought a kayak."))["contains"] == 1.0
    assert task.score(car, Reply("", abstained=True)) == {"contains": 1.0, "words": 0.0}
    assert task.score(car, Reply("Unknown."))["contains"] == 0.0
    assert task.malformed[:2] == (
        *("user 0, session 0, question 1: no answer, evidence, question_type",),
        "user 1, session 0, question 1: no answer, evidence, question_type",
    )
    assert "3 Sep" in task.malformed[2] and task.malformed[3] == "user 3: no uuid or no sessions"


def test_halumem_asks_all_at_the_end_where_it_is_told_to(halumem: Path) -> None:
    task: Any = make_task({"kind": "halumem", "asked": "end"}, halumem)
    assert task.ids() == ("u0", "u1")
    sample = task.sample("u0")
    assert len(sample.messages) == 4 and [question.id for question in sample.questions] == ["s0q0", "s2q0"]
    boundary: Any = make_task({"kind": "halumem", "types": ["Memory Boundary"]}, halumem)
    assert boundary.ids() == ("u0.2", "u1.2")


@pytest.fixture
def personamem(tmp_path: Path) -> Path:
    chats = [
        {
            "c0": [
                {"role": role, "content": f"{role} {i}"} for i, role in enumerate(["system", "user", "assistant"] * 2)
            ]
        },
        {"c1": [{"role": "user", "content": "I row."}]},
    ]
    write(tmp_path / "personamem" / "shared_contexts_32k.jsonl", chats, lines=True)
    options = "['(a) Row, (b) or not.', \"(b) Don't row.\", '(c) Swim.', '(d) Fly.']"
    row = {
        "question_id": "q", "question_type": "recalling", "user_question_or_message": "What now?",
        "correct_answer": "(b)", "all_options": options, "shared_context_id": "c0", "end_index_in_shared_context": "4",
    }  # fmt: skip
    rows = [
        {**row, "question_id": "q0"},
        {**row, "question_id": "q1", "question_type": "suggesting"},
        {**row, "shared_context_id": "c1", "end_index_in_shared_context": "1"},
        {**row, "all_options": "['(a) Row.']"},
        {**row, "shared_context_id": "c9"},
    ]
    with (tmp_path / "personamem" / "questions_32k.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(row))
        table.writeheader()
        table.writerows(rows)
    return tmp_path


def test_personamem_reads_a_chat_up_to_its_questions(personamem: Path) -> None:
    task: Any = make_task({"kind": "personamem"}, personamem)
    assert task.ids() == ("c0.4", "c1.1")
    sample = task.sample("c0.4")
    assert [message.content for message in sample.messages] == ["system 0", "user 1", "assistant 2", "system 3"]
    assert [question.id for question in sample.questions] == ["q0", "q1"]
    question = sample.questions[0]
    assert question.options == ("Row, (b) or not.", "Don't row.", "Swim.", "Fly.") and question.answers == (
        "Don't row.",
    )
    assert task.malformed == ("row 4: no question of four options", "row 5: no such chat")
    assert len(make_task({"kind": "personamem", "types": ["suggesting"]}, personamem).sample("c0.4").questions) == 1


@pytest.mark.parametrize(
    ("reply", "right"),
    [("Don't row.", 1.0), ("I think (b) fits.", 1.0), ("It is b", 1.0), ("(a) or (b)", 0.0), ("(c)", 0.0), ("", 0.0)],
)
def test_personamem_takes_one_letter_for_an_answer(personamem: Path, reply: str, right: float) -> None:
    task = make_task({"kind": "personamem"}, personamem)
    assert task.score(task.sample("c1.1").questions[0], Reply(reply)) == {"accuracy": right}


@pytest.fixture
def prefeval(tmp_path: Path) -> Path:
    folder = tmp_path / "prefeval" / "benchmark_dataset"
    items = [{"preference": f"I hate boats {i}.", "question": f"Where to {i}?"} for i in range(3)]
    write(folder / "explicit_preference" / "travel.json", [*items, {"question": "Lost?"}])
    chosen = {
        "query": "Lunch?",
        "assistant_options": "A or B.",
        "user_selection": "A.",
        "assistant_acknowledgment": "So.",
    }
    write(folder / "implicit_preference" / "choice-based" / "travel.json", [{**items[0], "conversation": chosen}])
    turns = {"0": {"user": "Hi.", "assistant": "Hello."}, "1": {"user": "No boats.", "assistant": "Fine."}}
    write(folder / "implicit_preference" / "persona-driven" / "travel.json", [{**items[0], "conversation": turns}])
    options = [{**item, "classification_task_options": ["Hills", "Sea", "Lake", "River"]} for item in items]
    write(folder / "mcq_options" / "travel.json", [*options[:2], {**options[2], "question": "Another?"}])
    talk = [{"role": role, "content": f"{role} {i}"} for i in range(3) for role in ("user", "assistant")]
    write(folder / "filtered_inter_turns.json", [{"conversation": talk[:4]}, {"conversation": talk[4:]}])
    return tmp_path


def test_prefeval_chooses_after_turns_about_other_things(prefeval: Path) -> None:
    task: Any = make_task({"kind": "prefeval", "turns": 2}, prefeval)
    assert task.ids() == ("travel-0", "travel-1")
    assert task.malformed == (
        *("travel-2: mcq_options has another question there", "travel-3: not all of preference, question"),
    )
    sample = task.sample("travel-0")
    said = [message.content for message in sample.messages]
    assert said == ["I hate boats 0.", "user 0", "assistant 0", "user 1", "assistant 1"]
    (question,) = sample.questions
    assert (question.answers, sorted(question.options)) == (("Hills",), ["Hills", "Lake", "River", "Sea"])
    assert task.sample("travel-0") == sample, "shuffled the same each time"
    letter = "ABCD"[question.options.index("Hills")]
    right = {"accuracy": 1.0, "recall@5": 1.0, "recall@10": 1.0}
    assert task.score(question, Reply(f"{letter}.", evidence=(3, 0))) == right
    assert task.score(question, Reply("Sea"))["accuracy"] == 0.0


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("choice", [("user", "Lunch?"), ("assistant", "A or B."), ("user", "A."), ("assistant", "So.")]),
        ("persona", [("user", "Hi."), ("assistant", "Hello."), ("user", "No boats."), ("assistant", "Fine.")]),
    ],
)
def test_prefeval_shows_a_preference_in_a_chat(prefeval: Path, form: str, said: list[tuple[str, str]]) -> None:
    task = make_task({"kind": "prefeval", "form": form, "task": "answer", "turns": 1}, prefeval)
    sample = task.sample("travel-0")
    assert [(message.role, message.content) for message in sample.messages[:4]] == said
    (question,) = sample.questions
    assert question.evidence == (0, 1, 2, 3) and "I hate boats 0." in question.answers[0]
    assert task.score(question, Reply("Go to the hills."))["words"] == 4.0
    with pytest.raises(ConfigError, match="ask for turns = 3 or fewer"):
        make_task({"kind": "prefeval", "turns": 4}, prefeval)


def test_realtalk_is_read_as_locomo_is(tmp_path: Path) -> None:
    def turn(id: str, text: str, **more: str) -> dict[str, str]:
        return {"dia_id": id, "speaker": "Una", "date_time": "29.12.2023, 12:05:30", "clean_text": text, **more}

    qa = [
        {"question": "What?", "answer": "bees, a mill", "category": 1, "evidence": ["D1:1; D2:1", "D1:2"]},
        {"question": "When?", "answer": 2019, "category": 2, "evidence": ["D1:3", "none"]},
        {"question": "Lost?", "category": 3},
    ]
    chat = {
        "name": {"speaker_1": "Una"},
        "session_1": [turn("D1:1", "I keep bees."), turn("D1:2", ""), turn("D1:3", "", blip_caption="a mill")],
        "session_10": [turn("D10:1", "Last.")],
        "session_2": [turn("D2:1", "I have a mill.")],
        "session_1_date_time": "29.12.2023, 12:05:30",
        "events_session_1": {},
        "qa": qa,
    }
    for name in ("Chat_10_Una_Osk", "Chat_2_Una_Osk"):
        write(tmp_path / "realtalk" / f"{name}.json", chat)
    task: Any = make_task({"kind": "realtalk"}, tmp_path)
    assert task.ids() == ["Chat_2_Una_Osk", "Chat_10_Una_Osk"]
    sample = task.sample("Chat_2_Una_Osk")
    assert [message.content for message in sample.messages] == ["I keep bees.", "a mill", "I have a mill.", "Last."]
    assert sample.messages[0].timestamp.isoformat() == "2023-12-29T12:05:30+00:00"
    what, when = sample.questions
    assert (what.evidence, when.evidence, when.answers) == ((0, 2), (1,), ("2019",))
    assert [item.split(": ", 1)[1] for item in task.malformed[:3]] == ["question 2: no answer", "D1:2", "none"]
    assert task.score(what, Reply("bees", evidence=(2,))) == {"F1": 0.5, "recall@5": 0.5, "recall@10": 0.5}
    dated: Any = make_task({"kind": "realtalk", "categories": [2]}, tmp_path)
    assert [question.id for question in dated.sample("Chat_2_Una_Osk").questions] == ["q1"]
