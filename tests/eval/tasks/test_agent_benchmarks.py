"""MemoryAgentBench and LongMemEval-V2, on small files of their formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Reply
from eval.tasks.catalogue import make_task

FACTS = "\n".join(f"{i}. The king of Orn is {name}." for i, name in enumerate(["Ada", "Bo"] * 100))
ROWS: list[dict[str, Any]] = [
    {
        "context": FACTS,
        "questions": ["Who is king?", "Who reigns?"],
        "answers": [["Bo"], ["Bo", "King Bo"]],
        "metadata": {"source": "factconsolidation_sh_6k"},
    },
    {"context": "c", "questions": ["Hm?"], "answers": [["7"]], "metadata": {"source": "icl_banking77"}},
    {
        "context": "b",
        "questions": ["Write it."],
        "answers": [["A summary."], ["Another one."]],
        "metadata": {"source": "infbench_sum_eng", "keypoints": ["Ada dies."]},
    },
    {
        "context": "h",
        "questions": ["Which boat?", "Which car?"],
        "answers": [["a kayak"], ["You did not say."]],
        "metadata": {
            "source": "longmemeval_s*",
            "question_ids": ["q1", "q2_abs"],
            "question_types": ["multi-session", "multi-session"],
        },
    },
    {"context": "e", "questions": ["Next?"], "answers": [["He left."]], "metadata": {"source": "eventqa_full"}},
    {"context": "r", "questions": ["A film?"], "answers": [["12"]], "metadata": {"source": "recsys_redial_full"}},
    {"context": "no answers", "questions": []},
]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    folder = tmp_path / "memory_agent_bench" / "data"
    folder.mkdir(parents=True)
    (folder / "Conflict_Resolution.json").write_text(json.dumps(ROWS), encoding="utf-8")
    return tmp_path


def made(bench: Path, **more: Any) -> Any:
    return make_task({"kind": "memory-agent-bench", "split": "Conflict_Resolution", **more}, bench)


def test_a_context_is_read_in_order_and_asked_many_times(bench: Path) -> None:
    task = made(bench)
    assert task.ids() == [f"{i}-{ROWS[i]['metadata']['source']}" for i in range(5)]
    assert task.malformed == ("row 6: no answers", "row 5: recsys_redial_full needs a table of films for its score")
    sample = task.sample("0-factconsolidation_sh_6k")
    assert "\n".join(message.content for message in sample.messages) == FACTS and len(sample.messages) == 2
    times = [message.timestamp for message in sample.messages]
    assert times == sorted(set(times)) and times[-1] < sample.asked_at
    assert [question.answers for question in sample.questions] == [("Bo",), ("Bo", "King Bo")]
    assert sample.questions[0].text.endswith(" Who is king?") and "largest numbers" in sample.questions[0].text
    (summary,) = task.sample("2-infbench_sum_eng").questions
    assert [bool(task.sample(id).summary_words) for id in task.ids()] == [
        id == "2-infbench_sum_eng" for id in task.ids()
    ]
    assert (summary.answers, summary.facts["rubric"]) == (("A summary.", "Another one."), ["Ada dies."])
    assert made(bench, sources=["icl_"]).ids() == ["1-icl_banking77"]


def test_each_source_is_scored_by_its_rule(bench: Path) -> None:
    task = made(bench)
    king = task.sample("0-factconsolidation_sh_6k").questions[0]
    said = task.score(king, Reply("It is told here.\nAnswer: Bo."))
    assert (said["SubEM"], said["EM"], said["F1"]) == (1.0, 1.0, 1.0), "what follows the word counts, if it is better"
    assert task.score(king, Reply("The king is Bo"))["SubEM"] == 1.0 and task.score(king, Reply("Ada"))["SubEM"] == 0.0
    (label,) = task.sample("1-icl_banking77").questions
    assert task.score(label, Reply("label: 7"))["EM"] == 1.0
    assert task.score(label, Reply("none\n7"))["SubEM"] == 0.0, "of a label the first line alone"
    (event,) = task.sample("4-eventqa_full").questions
    assert task.score(event, Reply("Then he left. So."))["recall"] == 1.0
    assert task.score(event, Reply("Then he left"))["recall"] == 0.0, "letter for letter"
    boat, car = task.sample("3-longmemeval_s*").questions
    assert (boat.category, car.answers) == ("multi-session", ())
    assert task.score(car, Reply("", abstained=True)) == {"SubEM": 1.0, "words": 0.0}


def test_a_parquet_file_is_read_as_its_rows(bench: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="the extra eval is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    listed = made(bench)
    folder = bench / "memory_agent_bench" / "data"
    (folder / "Conflict_Resolution.json").unlink()
    parquet.write_table(arrow.Table.from_pylist(ROWS[:5]), folder / "Conflict_Resolution-00000-of-00001.parquet")
    task = made(bench)
    assert [task.sample(id) for id in task.ids()] == [listed.sample(id) for id in listed.ids()]


@pytest.fixture
def web(tmp_path: Path) -> Path:
    folder = tmp_path / "longmemeval-v2"
    (folder / "haystacks").mkdir(parents=True)
    states = [
        {"url": "http://shop", "action": None, "thought": "Look.", "accessibility_tree": "button Buy"},
        {"url": "http://shop/cart", "action": "click Buy", "thought": None, "accessibility_tree": "Cart: 1"},
    ]
    trajectories = [
        {"id": f"t{i}", "goal": f"Buy {i}", "outcome": "success", "start_url": "http://shop", "states": states}
        for i in range(2)
    ]
    (folder / "trajectories.jsonl").write_text("".join(json.dumps(own) + "\n" for own in trajectories))

    def question(id: str, function: str, **more: Any) -> dict[str, Any]:
        own = {"id": id, "domain": "web", "question_type": "procedure", "question": f"{id}?", "answer": "B"}
        return {**own, "eval_function": function, **more}

    questions = [
        question("w0", "mc_choice_match|strip_chars=."),
        question("w1", "llm_gotchas_checker", question_type="errors-gotchas"),
        question("e0", "mc_choice_match", domain="enterprise"),
        question("w2", "mc_choice_match", image="q.png"),
        question("w3", "magic"),
        question("w4", "mc_choice_match"),
        question("w5", "mc_choice_match"),
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(own) + "\n" for own in questions))
    both = {own["id"]: ["t0", "t1"] for own in questions}
    haystacks = {**both, "w4": ["t9"], "w5": ["t1"]}
    (folder / "haystacks" / "lme_v2_small.json").write_text(json.dumps(haystacks))
    return tmp_path


def test_questions_on_the_same_trajectories_are_one_sample(web: Path) -> None:
    task: Any = make_task({"kind": "longmemeval-v2"}, web)
    assert task.ids() == ["w0", "w5"]
    assert [item.split(": ", 1)[1] for item in task.malformed] == [
        *("w2 shows an image", "w3 is scored by magic, which is not known", "w4 has no trajectory t9"),
    ]
    sample = task.sample("w0")
    assert [question.id for question in sample.questions] == ["w0", "w1"]
    assert [message.source for message in sample.messages] == ["t0"] * 3 + ["t1"] * 3
    assert sample.messages[0].content == "Goal: Buy 0\nBegins at http://shop\nOutcome: success"
    assert sample.messages[2].content == "At http://shop/cart\nAction: click Buy\nCart: 1"
    choice, gotcha = sample.questions
    assert task.score(choice, Reply("So \\boxed{option b.}"))["accuracy"] == 1.0
    assert task.score(choice, Reply("B or C"))["accuracy"] == 0.0
    assert set(task.score(gotcha, Reply("B"))) == {"words"} and gotcha.facts["rubric"]
    assert task.score(choice, Reply("B", abstained=True))["accuracy"] == 0.0
    gotchas: Any = make_task({"kind": "longmemeval-v2", "types": ["errors-gotchas"]}, web)
    assert [question.id for id in gotchas.ids() for question in gotchas.sample(id).questions] == ["w1"]


@pytest.mark.parametrize(
    ("function", "answer", "reply", "right"),
    [
        (
            "norm_phrase_set_match|separators=,;",
            "Cart Rules, E-Mail",
            "a \\boxed{e-mail; Cart rules!}",
            1.0,
        ),
        ("norm_phrase_set_match", "Rule", "rules", 0.0),
        ("norm_phrase_set_match|lower=false", "Rule", "rule", 0.0),
        ("norm_phrase_set_match_ordered|separators=;", "a;b", "a then b", 1.0),
        ("norm_phrase_set_match_ordered|separators=;", "a;b", "b then a", 0.0),
        ("mc_choice_set_match", "CA", "Options A and C", 1.0),
        ("mc_choice_set_match", "CA", "A", 0.0),
        ("norm_phrase_set_match", "unknown", "\\boxed{UNKNOWN}", 0.0),
    ],
)
def test_a_question_says_how_it_is_scored(web: Path, function: str, answer: str, reply: str, right: float) -> None:
    path = web / "longmemeval-v2" / "questions.jsonl"
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    path.write_text(json.dumps({**row, "eval_function": function, "answer": answer}), encoding="utf-8")
    task = make_task({"kind": "longmemeval-v2"}, web)
    assert task.score(task.sample("w0").questions[0], Reply(reply))["accuracy"] == right
