"""What the tasks over documents share: documents, and questions with the places of their evidence.

A corpus is two samples, "even" and "odd", of the same documents: the questions of even index are for tuning, those of
odd index for claims, as everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from eval.harness import contract
from nscma_torch.core.config import LimitsConfig
from nscma_torch.core.records import Message
from nscma_torch.text.files.documents import text_messages

HALVES = ("even", "odd")
WRITTEN = datetime(2024, 1, 1, tzinfo=UTC)  # where a benchmark does not say when
ASKED = WRITTEN + timedelta(days=1)


@dataclass(frozen=True)
class Document:
    """One document; its name is that of its stream."""

    name: str
    text: str


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` of a document, by its place in the corpus."""

    document: int
    start: int
    end: int

    def overlaps(self, other: Span) -> bool:
        """Whether the two have a character in common."""
        return self.document == other.document and self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Question:
    """A question and where its evidence stands; `answers` are the right ones, or references of a summary."""

    text: str
    evidence: tuple[Span, ...]
    answers: tuple[str, ...] = ()
    id: str = ""
    category: str = ""


@dataclass(frozen=True)
class Corpus:
    """Documents that form one memory, and the questions about them, in file order.

    Attributes:
        whole_documents: whether the evidence is whole documents, so that recall counts documents and not chunks.
        malformed: evidence that names nothing in the corpus, dropped; questions left without any are not in
            `questions`.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    whole_documents: bool
    malformed: tuple[str, ...] = ()


def corpus_sample(half: str, corpus: Corpus, *, titled: bool = False, summary_words: int = 0) -> contract.Sample:
    """The documents of a corpus, a message each, and the questions of a half that have an answer.

    `titled`: their documents' names are their headings. `summary_words` as in `contract.Sample`.
    """
    messages = [
        Message("document", document.text, WRITTEN, name=document.name if titled else None, source=document.name)
        for document in corpus.documents
    ]
    questions = [
        corpus_question(f"q{i}", question)
        for i, question in enumerate(corpus.questions)
        if i % 2 == HALVES.index(half) and question.answers
    ]
    return contract.Sample(half, messages, questions, ASKED, summary_words)


def corpus_question(id: str, question: Question) -> contract.Question:
    """Its evidence are the documents in which its spans stand."""
    places = tuple(dict.fromkeys(span.document for span in question.evidence))
    return contract.Question(question.id or id, question.text, question.answers, question.category, places)


def file_messages(name: str, text: str) -> list[Message]:
    """A text as somebody adds it as a file: runs of paragraphs, a message each."""
    parts = text_messages(text, LimitsConfig().max_message_bytes)
    return [replace(message, timestamp=WRITTEN, source=name) for _, message in parts]


def without_answers(questions: Sequence[Question]) -> tuple[str, ...]:
    """What to say of questions that cannot be scored."""
    return tuple(f"no answer: {question.text}" for question in questions if not question.answers)
