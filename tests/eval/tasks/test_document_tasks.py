"""Tasks over documents, on small files of their formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Question, Reply, Task
from eval.tasks.catalogue import make_task
from nscma_torch.core.errors import ConfigError


def write(path: Path, content: Any, *, lines: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in content) if lines else json.dumps(content)
    path.write_text(text, encoding="utf-8")


def all_questions(task: Task) -> dict[str, Question]:
    return {question.text: question for id in task.ids() for question in task.sample(id).questions}


@pytest.fixture
def multihop(tmp_path: Path) -> Path:
    def row(number: int, answer: dict[str, Any]) -> dict[str, Any]:
        context = [["Orn", ["Orn is in Vell."]], [f"Lake {number}", ["A lake.", " It is deep."]]]
        facts = [["Orn", 0], [f"Lake {number}", 0]]
        own = {"_id": f"h{number}", "question": f"Who {number}?", "type": "bridge", "supporting_facts": facts}
        return {**own, "context": context, **answer}

    rows = [{"_id": "lost"}, row(0, {"answer": "Ada"}), row(1, {"answer": "yes"}), row(2, {}), row(3, {"answer": "Bo"})]
    write(tmp_path / "multihop" / "hotpot.json", rows, lines=True)
    paragraphs = [{"title": "Orn", "paragraph_text": "A hill.", "is_supporting": True}]
    musique = {"id": "2hop__1_2", "question": "Where?", "answer": "Vell", "answer_aliases": ["Old Vell", "Vell"]}
    write(tmp_path / "multihop" / "musique.json", [{**musique, "paragraphs": paragraphs}], lines=True)
    return tmp_path


def test_a_corpus_is_asked_by_halves(multihop: Path) -> None:
    task: Any = make_task({"kind": "multihop", "set": "hotpot"}, multihop)
    even, odd = (task.sample(id) for id in task.ids())
    assert [message.name for message in even.messages] == ["Orn", "Lake 0", "Lake 1", "Lake 2", "Lake 3"]
    assert even.messages == odd.messages
    assert [[question.id for question in sample.questions] for sample in (even, odd)] == [["h0"], ["h1", "h3"]]
    assert odd.questions[1].evidence == (0, 4)
    assert task.malformed == ("hotpot.json, row 0: no question, supporting_facts", "no answer: Who 2?")


def test_a_question_can_have_its_paragraphs_alone(multihop: Path) -> None:
    task: Any = make_task({"kind": "multihop", "set": "hotpot", "corpus": "question"}, multihop)
    assert task.ids() == ("h0", "h1") and task.malformed[-1].startswith("h3: "), "h3 is odd, as it is in the union"
    sample = task.sample("h3")
    assert (sample.id, len(sample.messages), sample.questions[0].evidence) == ("h3", 2, (0, 1))
    assert sample.messages[1].content == "Lake 3\nA lake. It is deep."


def test_multihop_answers_are_scored_by_the_rules_of_their_sets(multihop: Path) -> None:
    hotpot = make_task({"kind": "multihop", "set": "hotpot"}, multihop)
    yes = all_questions(hotpot)["Who 1?"]
    scores = hotpot.score(yes, Reply("yes indeed", evidence=(3, 0)))
    assert (scores["F1"], scores["EM"], scores["recall@5"]) == (0.0, 0.0, 0.5)
    assert scores["nDCG@10"] == pytest.approx(0.6309297 / 1.6309297)
    musique = make_task({"kind": "multihop"}, multihop)
    where = all_questions(musique)["Where?"]
    assert (where.answers, where.category) == (("Vell", "Old Vell"), "2hop")
    assert musique.score(where, Reply("the old Vell", evidence=(0,))) == {
        **dict.fromkeys(("F1", "EM", "recall@5", "recall@10", "nDCG@10"), 1.0)
    }


def test_qmsum_meetings_are_turns_or_documents(tmp_path: Path) -> None:
    meeting = {
        "meeting_transcripts": [
            {"speaker": "Grad A", "content": "Hello ."},
            {"speaker": "PhD B", "content": "Three layers ."},
            {"speaker": "Grad A", "content": "Fine ."},
        ],
        "general_query_list": [{"query": "Summarize", "answer": "Layers were counted."}, {"query": "Lost?"}],
        "specific_query_list": [
            {"query": "How many?", "answer": "three layers", "relevant_text_span": [["1", "2"], ["7", "9"]]},
            {"query": "Unanswered?", "relevant_text_span": [["0", "0"]]},
            {"answer": "No query."},
        ],
    }
    third = {"query": "Who?", "answer": "B", "relevant_text_span": [["1", "1"]]}
    asked = [*meeting["specific_query_list"], third]
    for name, own in (("m1", {**meeting, "specific_query_list": asked}), ("m2", meeting)):
        write(tmp_path / "qmsum" / "ALL" / "test" / f"{name}.json", own)
    task: Any = make_task({"kind": "qmsum"}, tmp_path)
    assert task.ids() == ["m1-even", "m1-odd", "m2-even", "m2-odd"]
    assert len(task.malformed) == 8, "a span, a query and two answers of each"
    sample = task.sample("m2-odd")
    (part,), (whole,) = sample.questions, task.sample("m2-even").questions
    assert sample.messages == task.sample("m2-even").messages
    assert [message.name for message in sample.messages] == ["Grad A", "PhD B", "Grad A"]
    assert (whole.evidence, part.evidence) == ((), (1, 2))
    (tmp_path / "novels").mkdir()
    (tmp_path / "novels" / "a.txt").write_text(
        "It rained on the roof of the old mill for days. " * 40, encoding="utf-8"
    )
    noisy = make_task({"kind": "qmsum", "noise": 1.0, "questions": 1}, tmp_path).sample("m2-odd")
    assert noisy.summary_words == sample.summary_words > 0
    assert task.score(part, Reply("three layers", evidence=(0, 1))) == {
        **dict.fromkeys(("ROUGE-1", "ROUGE-2", "ROUGE-L"), 1.0),
        **{"recall@5": 0.5, "recall@10": 0.5},
    }
    assert set(task.score(whole, Reply(""))) == {"ROUGE-1", "ROUGE-2", "ROUGE-L"}
    corpus: Any = make_task({"kind": "qmsum", "form": "corpus"}, tmp_path)
    assert [message.source for message in corpus.sample("even").messages] == ["m1", "m2"]
    for half, expected in (("even", [("How many?", (0,)), ("Who?", (0,))]), ("odd", [("How many?", (1,))])):
        assert [(question.text, question.evidence) for question in corpus.sample(half).questions] == expected
        parts = [
            (question.text, (i,))
            for i, name in enumerate(("m1", "m2"))
            for question in task.sample(f"{name}-{half}").questions
            if question.category == "specific"
        ]
        assert parts == expected, "a question is of the same half in both forms"


def test_odsum_takes_the_best_of_its_references(tmp_path: Path) -> None:
    folder = tmp_path / "odsum" / "Story" / "raw"
    for part, uid in (("dev", "s1"), ("test", "s2"), ("train", "s3")):
        told = {"metadata": {"uid": uid}, "divided_document": ["One."], "questions": [{"responses": [{"uid": uid}]}]}
        write(folder / "documents" / f"{part}.jsonl", [told], lines=True)
    responses = [{"uid": "s2", "response_text": "A red fox."}, {"uid": "s2", "response_text": "Nothing."}]
    asked = [
        {"responses": []},
        {"question_text": "Whom?", "responses": responses},
        {"question_text": "?", "responses": [{"uid": "s1"}]},
    ]
    write(folder / "queries.jsonl", [asked], lines=True)
    task: Any = make_task({"kind": "odsum", "set": "story"}, tmp_path)
    question = all_questions(task)["Whom?"]
    assert task.sample("odd").summary_words > 200
    assert (question.answers, question.evidence) == (("A red fox.", "Nothing."), (1,))
    assert task.malformed == ("query 0: no question_text", "no answer: ?")
    assert task.score(question, Reply("nothing", evidence=(1,)))["ROUGE-L"] == 1.0
    assert task.score(question, Reply("nothing", evidence=(0, 1)))["nDCG@10"] == pytest.approx(0.6309297)


@pytest.mark.parametrize("kind", ["multihop", "odsum", "qmsum"])
def test_bad_options_and_missing_files_are_one_error(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ConfigError, match="unknown key 'sett'"):
        make_task({"kind": kind, "sett": "x"}, tmp_path)
    if kind != "qmsum":
        with pytest.raises(ConfigError, match="as published"):
            make_task({"kind": kind}, tmp_path)
