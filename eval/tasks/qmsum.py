"""QMSum (Zhong et al. 2021): meetings, and questions with the turns that answer them (`relevant_text_span`).

All meetings of a split are one corpus. Questions about a whole meeting have no such turns and are left out; a span
that lies outside its meeting is reported and dropped.

As a task each meeting is a memory, as in the paper, its turns are messages, and the questions about the whole meeting
are asked too ("meeting"). It is two samples, "even" and "odd": halves are of questions, which count on from meeting to
meeting, those about parts as in the corpus, those about the whole among themselves. Or the split is one memory of
documents, and finding the meeting is part of it ("corpus"). Scores: ROUGE (`eval/metrics/rouge.py`), and recall of the
turns or meetings. Replies are summaries.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness import contract
from eval.metrics.answer_metrics import evidence_recall
from eval.metrics.rouge import rouge
from eval.tasks.corpus import (
    ASKED,
    HALVES,
    WRITTEN,
    Corpus,
    Document,
    Question,
    Span,
    corpus_sample,
    without_answers,
)
from eval.tasks.items import whole
from eval.tasks.options import NoisyOptions, read_options
from nscma_torch.core.records import Message

_SUMMARY_WORDS = 70  # of a reference, on average over the split "val"
_Turns = list[tuple[int, int]]  # where each turn's characters begin and end


def load(data: Path, split: str) -> Corpus:
    """The meetings of one split, in the order of their names, one turn a line."""
    documents: list[Document] = []
    questions: list[Question] = []
    malformed: list[str] = []
    for place, path in enumerate(sorted((data / "qmsum" / "ALL" / split).glob("*.json"))):
        meeting = json.loads(path.read_text(encoding="utf-8"))
        document, turns = _document(path.stem, meeting["meeting_transcripts"])
        documents.append(document)
        general = meeting.get("general_query_list", ())
        malformed += [f"no answer: {item.get('query')}" for item in general if not item.get("answer")]
        items, wrong = whole(meeting["specific_query_list"], ("query", "relevant_text_span"), f"{path.stem}: query")
        malformed += wrong
        for item in items:
            spans = [_span(place, turns, pair) for pair in item["relevant_text_span"]]
            pairs = zip(item["relevant_text_span"], spans, strict=True)
            malformed += [f"{path.stem}: {pair}" for pair, span in pairs if span is None]
            evidence = tuple(span for span in spans if span is not None)
            if evidence:
                questions.append(Question(item["query"], evidence, (item["answer"],) if item.get("answer") else ()))
    return Corpus(f"QMSum {split}", tuple(documents), tuple(questions), False, tuple(malformed))


def _document(name: str, transcript: list[dict[str, str]]) -> tuple[Document, _Turns]:
    """The transcript as text, and the place of each turn in it."""
    lines = [f"{turn['speaker']}: {turn['content']}" for turn in transcript]
    turns, start = [], 0
    for line in lines:
        turns.append((start, start + len(line)))
        start += len(line) + 1
    return Document(name, "\n".join(lines)), turns


def _span(place: int, turns: _Turns, pair: list[Any]) -> Span | None:
    """Characters of the turns from the first number to the last, both counted from 0; None outside the meeting."""
    first, last = int(pair[0]), int(pair[-1])
    if not 0 <= first <= last < len(turns):
        return None
    return Span(place, turns[first][0], turns[last][1])


class QmsumOptions(NoisyOptions):
    """Options of QMSum."""

    split: Literal["val", "test"] = Field("test", description="Which meetings.")
    form: Literal["meeting", "corpus"] = Field("meeting", description="A memory of each meeting, or one of all.")


class Qmsum:
    """QMSum's queries."""

    metrics: tuple[str, ...] = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "recall@5", "recall@10")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(QmsumOptions(), section)
        self.name = options.name or f"QMSum {options.split}"
        self._corpus = load(data, options.split)
        self._form = options.form
        self._folder = data / "qmsum" / "ALL" / options.split
        self._asked: dict[str, list[contract.Question]] = {}
        count: Counter[tuple[str, bool]] = Counter()
        for document in self._corpus.documents:
            self._asked |= {f"{document.name}-{half}": [] for half in HALVES}
            for question in _asked(self._meeting(document.name)):
                number = count[question.category, bool(question.evidence)]
                count[question.category, bool(question.evidence)] += 1
                if question.text and question.answers:
                    self._asked[f"{document.name}-{HALVES[number % 2]}"].append(question)
        self.malformed = (*self._corpus.malformed, *without_answers(self._corpus.questions))

    def ids(self) -> Sequence[str]:
        """Names of the meetings, each with the halves of its queries, or the halves of all queries."""
        return HALVES if self._form == "corpus" else list(self._asked)

    def sample(self, id: str) -> contract.Sample:
        """The turns of a meeting, or all meetings, with the queries of a half."""
        if self._form == "corpus":
            return corpus_sample(id, self._corpus, summary_words=_SUMMARY_WORDS)
        name, _, _ = id.rpartition("-")
        messages = [
            Message("user", turn["content"], WRITTEN + timedelta(seconds=i), turn["speaker"], session=name)
            for i, turn in enumerate(self._meeting(name)["meeting_transcripts"])
        ]
        return contract.Sample(id, messages, self._asked[id], ASKED, _SUMMARY_WORDS)

    def score(self, question: contract.Question, reply: contract.Reply) -> Mapping[str, float]:
        """ROUGE against the answer; recall of the evidence, where the query is about some part."""
        return {**rouge(reply.text, question.answers), **evidence_recall(question.evidence, reply.evidence)}

    def _meeting(self, name: str) -> Mapping[str, Any]:
        meeting: Mapping[str, Any] = json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))
        return meeting


def _asked(meeting: Mapping[str, Any]) -> Iterator[contract.Question]:
    """Queries on the whole meeting, then those on parts of it with their turns; without an answer, too."""
    turns = len(meeting["meeting_transcripts"])
    for kind in ("general", "specific"):
        for i, item in enumerate(meeting.get(f"{kind}_query_list", ())):
            if "query" not in item:
                continue
            spans = [(int(pair[0]), int(pair[-1])) for pair in item.get("relevant_text_span", ())]
            places = {place for first, last in spans if 0 <= first <= last < turns for place in range(first, last + 1)}
            evidence = tuple(sorted(places))
            answers = (item["answer"],) if item.get("answer") else ()
            yield contract.Question(f"{kind}-{i}", item["query"], answers, kind, evidence)
