"""MuSiQue (Trivedi et al. 2022), HotpotQA (Yang et al. 2018) and 2WikiMultihopQA (Ho et al. 2020): questions whose
answer takes several paragraphs.

The distinct paragraphs of all questions of a file are one corpus, each a document under its title; the paragraphs that
support the answer are the evidence. A question that comes without paragraphs, or a supporting title that is not among
them, is dropped and reported. What other systems retrieved for the questions, which the files hold too, is not read.

As a task the corpus is one memory ("union"), or each question has its own paragraphs alone, distractors among them
("question"), as HotpotQA calls it "distractor". Scores: exact match and F1 of hotpotqa/hotpot, hotpot_evaluate_v1.py @
4c0fa5ea (2Wiki's 2wikimultihop_evaluate_v1.1.py is the same) and StonyBrookNLP/musique, metrics/answer.py @ 8b8d8ce1,
which differ where the answer is yes or no; recall and nDCG of the supporting paragraphs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from eval.harness import contract
from eval.metrics.answer_metrics import evidence_ndcg, evidence_recall, exact_match, token_f1
from eval.tasks.corpus import HALVES, Corpus, Document, Question, Span, corpus_sample, without_answers
from eval.tasks.items import in_turn, whole
from eval.tasks.options import NoisyOptions, read_options


@dataclass(frozen=True)
class _Asked:
    """A question with its paragraphs, and the places of the supporting ones among them."""

    text: str
    paragraphs: list[Document]
    supporting: list[int]
    malformed: list[str]
    id: str = ""
    answers: tuple[str, ...] = ()
    category: str = ""


def load_musique(data: Path) -> Corpus:
    """MuSiQue, in file order."""
    return _corpus("MuSiQue", _asked(data, "musique"))


def load_hotpot(data: Path) -> Corpus:
    """HotpotQA, in file order."""
    return _corpus("HotpotQA", _asked(data, "hotpot"))


def load_2wiki(data: Path) -> Corpus:
    """2WikiMultihopQA, in file order."""
    return _corpus("2WikiMultihopQA", _asked(data, "wikihop"))


def _asked(data: Path, file: str) -> list[_Asked]:
    """All rows of a file, those that lack a key as questions with nothing but its name."""
    keys = ("id", "question", "paragraphs") if file == "musique" else ("_id", "question", "supporting_facts")
    rows, malformed = whole(_rows(data, file), keys, f"{file}.json, row")
    read = _musique if file == "musique" else _titled
    return [*map(read, rows), *(_Asked("", [], [], [item]) for item in malformed)]


def _rows(data: Path, name: str) -> Iterator[dict[str, Any]]:
    with (data / "multihop" / f"{name}.json").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _musique(row: dict[str, Any]) -> _Asked:
    paragraphs = [_document(own["title"], own["paragraph_text"]) for own in row["paragraphs"]]
    supporting = [i for i, own in enumerate(row["paragraphs"]) if own["is_supporting"]]
    malformed = [] if supporting else [f"{row['id']}: no support"]
    answers = tuple(dict.fromkeys([str(row["answer"]), *row.get("answer_aliases", ())])) if "answer" in row else ()
    category = str(row["id"]).split("__")[0]
    return _Asked(row["question"], paragraphs, supporting, malformed, str(row["id"]), answers, category)


def _titled(row: dict[str, Any]) -> _Asked:
    """A row of HotpotQA's format: [title, sentences] for each paragraph, [title, sentence] for each support."""
    if not row.get("context"):
        return _Asked(row["question"], [], [], [f"{row['_id']}: no paragraphs"], row["_id"])
    titles = [title for title, _ in row["context"]]
    paragraphs = [_document(title, " ".join(s.strip() for s in said)) for title, said in row["context"]]
    named = dict.fromkeys(title for title, _ in row["supporting_facts"])
    supporting = [i for i, title in enumerate(titles) if title in named]
    malformed = [f"{row['_id']}: {title}" for title in named if title not in titles]
    answers = (str(row["answer"]),) if "answer" in row else ()
    return _Asked(row["question"], paragraphs, supporting, malformed, row["_id"], answers, row.get("type", ""))


def _document(title: str, text: str) -> Document:
    return Document(title, f"{title}\n{text}")


def _corpus(name: str, asked: list[_Asked]) -> Corpus:
    documents = list(dict.fromkeys(paragraph for own in asked for paragraph in own.paragraphs))
    place = {document: i for i, document in enumerate(documents)}
    questions = []
    for own in asked:
        support = dict.fromkeys(own.paragraphs[i] for i in own.supporting)
        if support:
            spans = tuple(Span(place[d], 0, len(d.text)) for d in support)
            questions.append(Question(own.text, spans, own.answers, own.id, own.category))
    malformed = tuple(item for own in asked for item in own.malformed)
    return Corpus(name, tuple(documents), tuple(questions), True, malformed)


_FILES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"musique": ("MuSiQue", "musique"), "hotpot": ("HotpotQA", "hotpot"), "2wiki": ("2WikiMultihopQA", "wikihop")}
)


class MultihopOptions(NoisyOptions):
    """Options of the multi-hop sets."""

    set: Literal["musique", "hotpot", "2wiki"] = Field("musique", description="Which of the three.")
    corpus: Literal["union", "question"] = Field(
        "union", description="All paragraphs of the file in one memory, or a memory of its own for each question."
    )


class Multihop:
    """Multi-hop questions over paragraphs."""

    metrics: tuple[str, ...] = ("F1", "EM", "recall@5", "recall@10", "nDCG@10")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(MultihopOptions(), section)
        name, file = _FILES[options.set]
        self.name = options.name or name
        self._closed = options.set != "musique"
        asked = _asked(data, file)
        self._union = _corpus(name, asked)
        supported = {own.id: own for own in asked if own.supporting}
        self._own = supported if options.corpus == "question" else None
        self._ids, left_over = in_turn((i, own.id) for i, own in enumerate(supported.values()) if own.answers)
        self.malformed = (*self._union.malformed, *without_answers(self._union.questions))
        if self._own is not None:
            self.malformed += left_over

    def ids(self) -> Sequence[str]:
        """The halves of the questions, or each question's id, of both halves in turn."""
        return HALVES if self._own is None else self._ids

    def sample(self, id: str) -> contract.Sample:
        """All paragraphs with the questions of a half, or one question with its own."""
        if self._own is None:
            return corpus_sample(id, self._union, titled=True)
        return replace(corpus_sample("even", _corpus(id, [self._own[id]]), titled=True), id=id)

    def score(self, question: contract.Question, reply: contract.Reply) -> Mapping[str, float]:
        """Exact match and F1 of the best answer; recall and nDCG of the supporting paragraphs."""
        return {
            "F1": token_f1(reply.text, question.answers, closed=self._closed),
            "EM": exact_match(reply.text, question.answers),
            **evidence_recall(question.evidence, reply.evidence),
            **evidence_ndcg(question.evidence, reply.evidence),
        }
