"""ODSum (Zhou et al. 2023), open-domain summarisation over documents: stories of SQuALITY, meetings of QMSum.

Which documents a query is about is its evidence. Meeting: `meetings_list` names them; a name without a file is dropped
and reported. Story: a query's responses carry the same ids as those of the story they were written for; they are its
four reference summaries. All documents are one memory, and replies are summaries. Scores: ROUGE
(`eval/metrics/rouge.py`), recall and nDCG of the documents. The benchmark's judge by a language model is not among
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness import contract
from eval.metrics.answer_metrics import evidence_ndcg, evidence_recall
from eval.metrics.rouge import rouge
from eval.tasks.corpus import HALVES, Corpus, Document, Question, Span, corpus_sample, without_answers
from eval.tasks.items import whole
from eval.tasks.options import NoisyOptions, read_options

_SUMMARY_WORDS = {"meeting": 160, "story": 225}  # of a reference, on average over the even half


def load_meetings(data: Path) -> Corpus:
    """ODSum-Meeting: one document for each transcript, in the order of their names."""
    folder = data / "odsum" / "Meeting" / "raw"
    paths = sorted((folder / "Documents").glob("*.txt"))
    documents = tuple(Document(path.stem, path.read_text(encoding="utf-8")) for path in paths)
    place = {document.name: i for i, document in enumerate(documents)}
    rows = json.loads((folder / "queries.json").read_text(encoding="utf-8")).values()
    queries, wrong = whole(rows, ("query", "meetings_list"), "query")
    named = [(query["query"], query["meetings_list"], query.get("answer")) for query in queries]
    questions = [
        (text, [place[name] for name in names if name in place], tuple(filter(None, [answer])))
        for text, names, answer in named
    ]
    malformed = (*wrong, *(name for _, names, _ in named for name in names if name not in place))
    return Corpus("ODSum-Meeting", documents, _questions(documents, questions), True, malformed)


def load_stories(data: Path) -> Corpus:
    """ODSum-Story: one document for each story, in file order."""
    folder = data / "odsum" / "Story" / "raw"
    rows = [row for part in ("dev", "test", "train") for row in _json_lines(folder / "documents" / f"{part}.jsonl")]
    documents = tuple(Document(row["metadata"]["uid"], "\n\n".join(row["divided_document"])) for row in rows)
    story_of = {uid: i for i, row in enumerate(rows) for own in row["questions"] for uid in _responses(own)}
    queries = [query for own in _json_lines(folder / "queries.jsonl") for query in own]
    asked, wrong = whole(queries, ("question_text", "responses"), "query")
    questions = [
        (
            query["question_text"],
            [story_of[uid] for uid in _responses(query) if uid in story_of],
            tuple(own["response_text"] for own in query["responses"] if own.get("response_text")),
        )
        for query in asked
    ]
    malformed = (*wrong, *(uid for query in asked for uid in _responses(query) if uid not in story_of))
    return Corpus("ODSum-Story", documents, _questions(documents, questions), True, malformed)


def _json_lines(path: Path) -> list[Any]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _responses(question: dict[str, Any]) -> list[str]:
    return [response["uid"] for response in question["responses"]]


def _questions(
    documents: tuple[Document, ...], found: list[tuple[str, list[int], tuple[str, ...]]]
) -> tuple[Question, ...]:
    return tuple(
        Question(text, tuple(Span(place, 0, len(documents[place].text)) for place in dict.fromkeys(places)), answers)
        for text, places, answers in found
        if places
    )


class OdsumOptions(NoisyOptions):
    """Options of ODSum."""

    set: Literal["meeting", "story"] = Field("meeting", description="Which of the two.")


class Odsum:
    """ODSum's queries over all documents of a set."""

    metrics: tuple[str, ...] = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "recall@5", "recall@10", "nDCG@10")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(OdsumOptions(), section)
        self._corpus = load_meetings(data) if options.set == "meeting" else load_stories(data)
        self._summary_words = _SUMMARY_WORDS[options.set]
        self.name = options.name or self._corpus.name
        self.malformed = (*self._corpus.malformed, *without_answers(self._corpus.questions))

    def ids(self) -> Sequence[str]:
        """The halves of the queries."""
        return HALVES

    def sample(self, id: str) -> contract.Sample:
        """All documents with the queries of a half."""
        return corpus_sample(id, self._corpus, summary_words=self._summary_words)

    def score(self, question: contract.Question, reply: contract.Reply) -> Mapping[str, float]:
        """ROUGE against the best reference; recall and nDCG of the documents."""
        found = evidence_recall(question.evidence, reply.evidence)
        return {**rouge(reply.text, question.answers), **found, **evidence_ndcg(question.evidence, reply.evidence)}
