"""Tasks whose data are not at hand, on small files in the format that their docstrings name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Reply
from eval.tasks.catalogue import KINDS, make_task
from eval.tasks.multihop_rag import ranks
from nscma_torch.core.errors import ConfigError


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_quality_puts_both_lines_of_an_article_together(tmp_path: Path) -> None:
    def item(question: str, **more: Any) -> dict[str, Any]:
        return {"question": question, "options": ["Red", "Blue", "Green", "Grey"], **more}

    rows = [
        {"article_id": "1", "article": "A hat.\n\nIt was blue.", "questions": [item("Which?", gold_label=2)]},
        {"article_id": "1", "article": "A hat.", "questions": [item("Hard?", gold_label=4, difficult=1)]},
        {"article_id": "2", "article": "Nothing.", "questions": [item("Hidden?"), item("Five?", gold_label=5)]},
        {"article_id": "3", "article": "No questions."},
    ]
    file = tmp_path / "quality" / "QuALITY.v1.0.1.htmlstripped.dev"
    write(file, "".join(json.dumps(row) + "\n" for row in rows))
    task: Any = make_task({"kind": "quality"}, tmp_path)
    assert task.ids() == ["1", "2"]
    assert task.malformed == (
        *("line 3: no gold label: Hidden?", "line 3: no gold label: Five?"),
        "line 4: no questions",
    )
    sample = task.sample("1")
    assert "".join(message.content for message in sample.messages).endswith("It was blue.")
    which, hard = sample.questions
    assert (which.answers, which.category, hard.category) == (("Blue",), "easy", "hard")
    assert task.score(which, Reply("It was blue")) == {"accuracy": 1.0}
    assert task.score(hard, Reply("A")) == {"accuracy": 0.0} and task.score(hard, Reply("")) == {"accuracy": 0.0}


def test_narrativeqa_cuts_stories_and_takes_the_better_answer(tmp_path: Path) -> None:
    folder = tmp_path / "narrativeqa"
    header = "document_id,set,kind,story_url,story_file_size,wiki_url,wiki_title,story_word_count,story_start,story_end"
    rows = ["d1,test,gutenberg,u,1,w,t,9,Once  upon,the end", "d2,test,movie,u,1,w,t,9,,", "d3,train,movie,u,1,w,t,9,,"]
    write(folder / "documents.csv", "\n".join([header, *rows, "d4,test,movie,u,1,w,t,9,,"]))
    write(folder / "tmp" / "d2.content", "<HTML><style>p {x}</style><body><b>BO</b> &amp; Al enter.</body></HTML>")
    (folder / "tmp" / "d1.content").write_bytes(
        "Licence.\nOnce\nupon a caf\xe9. It was the end. Licence.".encode("latin-1")
    )
    asked = "document_id,set,question,answer1,answer2,question_tokenized,answer1_tokenized,answer2_tokenized"
    questions = ["d1,test,Where?,in a café,the café,w,a,b", "d1,test,Lost?,,,w,a,b", "d2,test,Who?,Bo,,w,a,b"]
    write(folder / "qaps.csv", "\n".join([asked, *questions, "d3,train,Why?,so,so,w,a,b"]))
    summaries = "document_id,set,summary,summary_tokenized\nd1,test,A short one.,A short one ."
    write(folder / "third_party" / "wikipedia" / "summaries.csv", summaries)
    task: Any = make_task({"kind": "narrativeqa"}, tmp_path)
    assert (task.ids(), task.malformed) == (["d1", "d2"], ("no text: d4", "no answer: Lost?"))
    first, second = (task.sample(id) for id in task.ids())
    assert [message.content for message in first.messages] == ["Once\nupon a café. It was the end"]
    assert [message.content.strip() for message in second.messages] == ["BO & Al enter."]
    (where,) = first.questions
    assert task.score(where, Reply("the café")) == {"ROUGE-L": 1.0, "F1": 1.0, "EM": 1.0}
    short: Any = make_task({"kind": "narrativeqa", "text": "summary"}, tmp_path)
    assert [message.content for message in short.sample("d1").messages] == ["A short one."]


def test_multihop_rag_joins_evidence_by_url_or_title(tmp_path: Path) -> None:
    folder = tmp_path / "multihop_rag" / "dataset"
    articles = [
        {
            "title": f"T{i}",
            "source": "S",
            "published_at": f"2023-10-0{i}T08:00:00+00:00",
            "body": f"B{i}",
            "url": f"u{i}",
        }
        for i in (1, 2, 3)
    ]
    write(folder / "corpus.json", json.dumps(articles))
    queries = [
        {
            "query": "Who?",
            "answer": "Sam Orr",
            "question_type": "inference_query",
            "evidence_list": [{"url": "u3", "fact": "B3"}, {"title": "T1", "fact": "B1"}, {"title": "Gone"}],
        },
        {
            "query": "Unknown?",
            "answer": "Insufficient information.",
            "question_type": "null_query",
            "evidence_list": [],
        },
        {"query": "Lost?", "question_type": "inference_query"},
    ]
    write(folder / "MultiHopRAG.json", json.dumps(queries))
    task: Any = make_task({"kind": "multihop-rag"}, tmp_path)
    assert task.malformed == ("no such article: Gone", "no query or no answer: Lost?")
    even, odd = (task.sample(id) for id in task.ids())
    assert [message.content for message in even.messages] == ["B1", "B2", "B3"]
    assert even.asked_at.isoformat() == "2023-10-04T08:00:00+00:00"
    (who,), (unknown,) = even.questions, odd.questions
    assert (who.evidence, unknown.answers) == ((2, 0), ())
    scores = task.score(who, Reply("It was Sam", evidence=(1, 0, 2)))
    assert (scores["accuracy"], scores["EM"], scores["F1"]) == (1.0, 0.0, pytest.approx(2 / 5))
    assert scores["words"] == 3.0
    assert task.score(unknown, Reply("", abstained=True)) == {"accuracy": 1.0, "words": 0.0}
    assert task.score(unknown, Reply("Sam")) == {"accuracy": 0.0, "words": 1.0}


def test_ranks_by_hand() -> None:
    # ranks 2 and 6 of two: (1/2 + 1/6) / 2
    assert ranks((7, 8), (1, 7, 2, 3, 4, 8)) == {
        **{"Hits@4": 1.0, "Hits@10": 1.0, "MAP@10": pytest.approx(1 / 3), "MRR@10": 0.5}
    }
    assert ranks((7,), (1, 2)) == dict.fromkeys(("Hits@4", "Hits@10", "MAP@10", "MRR@10"), 0.0)
    assert ranks((), (1,)) == {}


def test_fables_asks_for_claims_that_are_true_or_not(tmp_path: Path) -> None:
    claims = {
        "0": {"claim": "Ada sails.", "label": "Yes", "evidence": [], "reason": []},
        "1": {"claim": "Ada drowns.", "label": "No"},
        "2": {"claim": "Ada rows.", "label": "PartialSupport"},
        "3": {"claim": "Unlabelled."},
    }
    books = {"The Sea": {"GPT-4": {"summary": "-", "claims": claims}}, "Elsewhere": {"GPT-4": {"claims": claims}}}
    write(tmp_path / "fables" / "FABLES.json", json.dumps(books))
    write(tmp_path / "fables" / "books" / "The Sea.txt", "Ada sails the sea.")
    task: Any = make_task({"kind": "fables"}, tmp_path)
    assert (task.ids(), len(task.malformed)) == (["The Sea"], 2)
    true, false = task.sample("The Sea").questions
    assert true.text == "Is this true of the book? Ada sails." and false.answers == ("No",)
    wrong = {"accuracy": 0.0, "tp": 0.0, "fp": 0.0, "fn": 0.0, "tn": 0.0}
    assert task.score(true, Reply("Yes, she does.")) == {**wrong, "accuracy": 1.0, "tp": 1.0}
    assert task.score(true, Reply("Perhaps")) == {**wrong, "fn": 1.0}
    assert task.score(false, Reply("no")) == {**wrong, "accuracy": 1.0, "tn": 1.0}
    assert task.score(false, Reply("")) == {**wrong, "fp": 1.0}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_refuses_unknown_keys_and_names_missing_data(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ConfigError, match=f"kind '{kind}': unknown key 'nam'; did you mean 'name'"):
        make_task({"kind": kind, "nam": "x"}, tmp_path)
    with pytest.raises(ConfigError, match=str(tmp_path)):
        make_task({"kind": kind}, tmp_path).ids()
