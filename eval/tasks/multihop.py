"""MuSiQue (Trivedi et al. 2022), HotpotQA (Yang et al. 2018) and 2WikiMultihopQA (Ho et al. 2020): questions whose
answer takes several paragraphs.

The distinct paragraphs of all questions of a file are one corpus, each a document under its title; the paragraphs that
support the answer are the evidence. A question that comes without paragraphs, or a supporting title that is not among
them, is dropped and reported. What other systems retrieved for the questions, which the files hold too, is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.tasks.corpus import Corpus, Document, Question, Span


@dataclass(frozen=True)
class _Asked:
    """A question with its paragraphs, and the places of the supporting ones among them."""

    text: str
    paragraphs: list[Document]
    supporting: list[int]
    malformed: list[str]


def load_musique(data: Path) -> Corpus:
    """MuSiQue, in file order."""
    return _corpus("MuSiQue", [_musique(row) for row in _rows(data, "musique")])


def load_hotpot(data: Path) -> Corpus:
    """HotpotQA, in file order."""
    return _corpus("HotpotQA", [_titled(row) for row in _rows(data, "hotpot")])


def load_2wiki(data: Path) -> Corpus:
    """2WikiMultihopQA, in file order."""
    return _corpus("2WikiMultihopQA", [_titled(row) for row in _rows(data, "wikihop")])


def _rows(data: Path, name: str) -> Iterator[dict[str, Any]]:
    with (data / "multihop" / f"{name}.json").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _musique(row: dict[str, Any]) -> _Asked:
    paragraphs = [_document(own["title"], own["paragraph_text"]) for own in row["paragraphs"]]
    supporting = [i for i, own in enumerate(row["paragraphs"]) if own["is_supporting"]]
    return _Asked(row["question"], paragraphs, supporting, [] if supporting else [f"{row['id']}: no support"])


def _titled(row: dict[str, Any]) -> _Asked:
    """A row of HotpotQA's format: [title, sentences] for each paragraph, [title, sentence] for each support."""
    if not row.get("context"):
        return _Asked(row["question"], [], [], [f"{row['_id']}: no paragraphs"])
    titles = [title for title, _ in row["context"]]
    paragraphs = [_document(title, " ".join(s.strip() for s in said)) for title, said in row["context"]]
    named = dict.fromkeys(title for title, _ in row["supporting_facts"])
    supporting = [i for i, title in enumerate(titles) if title in named]
    malformed = [f"{row['_id']}: {title}" for title in named if title not in titles]
    return _Asked(row["question"], paragraphs, supporting, malformed)


def _document(title: str, text: str) -> Document:
    return Document(title, f"{title}\n{text}")


def _corpus(name: str, asked: list[_Asked]) -> Corpus:
    documents = list(dict.fromkeys(paragraph for own in asked for paragraph in own.paragraphs))
    place = {document: i for i, document in enumerate(documents)}
    questions = []
    for own in asked:
        support = dict.fromkeys(own.paragraphs[i] for i in own.supporting)
        if support:
            questions.append(Question(own.text, tuple(Span(place[d], 0, len(d.text)) for d in support)))
    malformed = tuple(item for own in asked for item in own.malformed)
    return Corpus(name, tuple(documents), tuple(questions), True, malformed)
