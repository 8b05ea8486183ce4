"""Loaders of documents, on files of their formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.tasks import novels, odsum, qmsum
from nscma_torch.text.chunker import Chunker


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def story(uid: str, responses: list[str]) -> dict[str, Any]:
    return {
        "metadata": {"uid": uid},
        "divided_document": [f"Part one of {uid}.", "Part two."],
        "questions": [{"question_text": "What happens?", "responses": [{"uid": response} for response in responses]}],
    }


def test_odsum_meetings_name_their_evidence_and_report_names_without_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "odsum" / "Meeting" / "raw"
    for name in ("b2", "a1", "c3"):
        write(folder / "Documents" / f"{name}.txt", f"grad a: This is {name} .")
    queries = {
        "0": {"query": "What was decided?", "answer": "-", "meetings_list": ["c3", "a1", "c3"]},
        "1": {"query": "And then?", "answer": "-", "meetings_list": ["gone", "b2"]},
        "2": {"query": "Lost?", "answer": "-", "meetings_list": ["gone"]},
    }
    write(folder / "queries.json", json.dumps(queries))
    corpus = odsum.load_meetings(tmp_path)
    assert [document.name for document in corpus.documents] == ["a1", "b2", "c3"]
    assert [question.text for question in corpus.questions] == ["What was decided?", "And then?"]
    assert [[span.document for span in question.evidence] for question in corpus.questions] == [[2, 0], [1]]
    assert corpus.malformed == ("gone", "gone")
    assert corpus.whole_documents


def test_odsum_stories_are_joined_by_their_responses(tmp_path: Path) -> None:
    folder = tmp_path / "odsum" / "Story" / "raw"
    stories = {"dev": story("s1", ["r1", "r2"]), "test": story("s2", ["r3"]), "train": story("s3", ["r4"])}
    for part, row in stories.items():
        write(folder / "documents" / f"{part}.jsonl", json.dumps(row) + "\n")
    asked = [
        [{"question_text": "What is s2 about?", "responses": [{"uid": "r3"}]}],
        [
            {"question_text": "What is s1 about?", "responses": [{"uid": "r2"}, {"uid": "r1"}]},
            {"question_text": "Whose is it?", "responses": [{"uid": "r9"}]},
        ],
    ]
    write(folder / "queries.jsonl", "".join(json.dumps(line) + "\n" for line in asked))
    corpus = odsum.load_stories(tmp_path)
    assert corpus.documents[1].text == "Part one of s2.\n\nPart two."
    assert [(q.text, [span.document for span in q.evidence]) for q in corpus.questions] == [
        ("What is s2 about?", [1]),
        ("What is s1 about?", [0]),
    ]
    assert corpus.malformed == ("r9",)


def test_qmsum_spans_are_the_characters_of_their_turns(tmp_path: Path) -> None:
    meeting = {
        "meeting_transcripts": [
            {"speaker": "Grad A", "content": "Hello ."},
            {"speaker": "PhD B", "content": "The net has three layers ."},
            {"speaker": "Grad A", "content": "Fine ."},
        ],
        "general_query_list": [{"query": "Summarize the meeting", "answer": "-"}],
        "specific_query_list": [
            {"query": "How many layers?", "answer": "-", "relevant_text_span": [["1", "2"]]},
            {"query": "Beyond the end?", "answer": "-", "relevant_text_span": [["2", "3"]]},
        ],
    }
    write(tmp_path / "qmsum" / "ALL" / "val" / "m1.json", json.dumps(meeting))
    corpus = qmsum.load(tmp_path, "val")
    (document,) = corpus.documents
    assert document.text == "Grad A: Hello .\nPhD B: The net has three layers .\nGrad A: Fine ."
    (question,) = corpus.questions
    (span,) = question.evidence
    assert document.text[span.start : span.end] == "PhD B: The net has three layers .\nGrad A: Fine ."
    assert corpus.malformed == ("m1: ['2', '3']",)
    assert not corpus.whole_documents


def test_novels_are_chunked_in_order_and_too_few_chunks_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / "novels" / "b.txt", "One two three. Four five six. Seven eight nine.")
    write(tmp_path / "novels" / "a.txt", "It was a dark night. It rained.")
    chunker = Chunker(lambda texts: [len(text.split()) for text in texts], 5)
    messages = novels.chunk_messages(tmp_path, 4, chunker)
    assert [(message.source, message.content) for message in messages] == [
        ("a", "It was a dark night."),
        ("a", "It rained."),
        ("b", "One two three."),
        ("b", "Four five six."),
    ]
    with pytest.raises(ValueError, match="holds 5 chunks"):
        novels.chunk_messages(tmp_path, 6, chunker)
