"""What the tasks over documents share: documents, and questions with the places of their evidence."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True)
class Question:
    """A question and where its evidence stands."""

    text: str
    evidence: tuple[Span, ...]


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
