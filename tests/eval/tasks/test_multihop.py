"""Readers of the multi-hop sets, on small files of their formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.tasks import multihop
from eval.tasks.corpus import Corpus


def write(data: Path, name: str, rows: list[dict[str, Any]]) -> None:
    (data / "multihop").mkdir(exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (data / "multihop" / f"{name}.json").write_text(text, encoding="utf-8")


def evidence(corpus: Corpus) -> list[list[str]]:
    """The documents that support each question, by their text."""
    return [[corpus.documents[span.document].text for span in question.evidence] for question in corpus.questions]


def paragraph(title: str, text: str, supporting: bool) -> dict[str, Any]:
    return {"idx": 0, "title": title, "paragraph_text": text, "is_supporting": supporting}


def test_musique_is_the_union_of_its_paragraphs(tmp_path: Path) -> None:
    lake, town = ("Lake Orn", "Lake Orn is in Vell."), ("Vell", "Vell is a town.")
    mill = paragraph("Vell", "Vell has a mill.", False)
    rows: list[dict[str, Any]] = [
        {
            "id": "2hop__1",
            "question": "Where is the lake?",
            "paragraphs": [paragraph(*lake, True), mill, paragraph(*town, True)],
        },
        {"id": "2hop__2", "question": "What is Vell?", "paragraphs": [paragraph(*town, True), paragraph(*lake, False)]},
        {"id": "2hop__3", "question": "Who knows?", "paragraphs": [paragraph("Orn", "A hill.", False)]},
    ]
    write(tmp_path, "musique", rows)
    corpus = multihop.load_musique(tmp_path)
    assert [(document.name, document.text) for document in corpus.documents] == [
        ("Lake Orn", "Lake Orn\nLake Orn is in Vell."),
        ("Vell", "Vell\nVell has a mill."),
        ("Vell", "Vell\nVell is a town."),
        ("Orn", "Orn\nA hill."),
    ]
    assert evidence(corpus) == [["Lake Orn\nLake Orn is in Vell.", "Vell\nVell is a town."], ["Vell\nVell is a town."]]
    assert corpus.malformed == ("2hop__3: no support",)
    assert corpus.whole_documents


@pytest.mark.parametrize(("name", "load"), [("hotpot", multihop.load_hotpot), ("wikihop", multihop.load_2wiki)])
def test_titles_name_the_support_of_hotpot_and_2wiki(tmp_path: Path, name: str, load: Any) -> None:
    rows: list[dict[str, Any]] = [
        {
            "_id": "a",
            "question": "Who directed the film of the band?",
            "context": [
                ["The Film", ["The Film is by Ada.", " It is long."]],
                ["Ada", ["Ada is a director."]],
                ["Ada", ["Ada is a director."]],
                ["Other", ["Other."]],
            ],
            "supporting_facts": [["The Film", 0], ["Ada", 0], ["The Film", 1], ["Gone", 0]],
            "reranked_ret_res": ["Other"],
            "top_rank_questions": ["Other"],
            "final_res": ["Other"],
        },
        {"_id": "b", "question": "No paragraphs?", "supporting_facts": [["Ada", 0]]},
        {"_id": "c", "question": "Empty?", "context": [], "supporting_facts": [["Ada", 0]]},
    ]
    write(tmp_path, name, rows)
    corpus = load(tmp_path)
    assert [document.text for document in corpus.documents] == [
        "The Film\nThe Film is by Ada. It is long.",
        "Ada\nAda is a director.",
        "Other\nOther.",
    ]
    assert evidence(corpus) == [["The Film\nThe Film is by Ada. It is long.", "Ada\nAda is a director."]]
    (question,) = corpus.questions
    assert all(span.start == 0 and span.end == len(corpus.documents[span.document].text) for span in question.evidence)
    assert corpus.malformed == ("a: Gone", "b: no paragraphs", "c: no paragraphs")
