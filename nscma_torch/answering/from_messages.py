"""Answer a question from search results with passages, preceded by the trained reader's short answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from nscma_torch.answering.parts import Parts
from nscma_torch.core.protocols import LanguageTasks, QuotingTasks
from nscma_torch.core.records import Answer, AskedQuestion, Hit
from nscma_torch.episodic.log import speakers
from nscma_torch.reading.question_intent import intent
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.text.scripts import script

if TYPE_CHECKING:
    from nscma_torch.answering.reader_qa import ReaderQA, SearchAgain
    from nscma_torch.search.search import Retrieved


def from_messages(
    parts: Parts, tasks: LanguageTasks, question: str, bounds: Bounds, top_k: int
) -> tuple[Answer, Sequence[Hit]]:
    """Return the answer from one search, and the first `top_k` hits, which the answer may quote."""
    most = top_k if _reader_beside(parts, tasks, question) is None else max(top_k, parts.config.reading.passages)
    found = retrieved(parts, question, bounds, most, tasks)
    user_id, now = bounds.scope.user_id, bounds.now
    answerability = found.answerability()
    answer = answer_from(
        parts,
        tasks,
        question,
        found.hits,
        answerability,
        top_k=top_k,
        user_id=user_id,
        now=now,
        search_again=lambda query: retrieved(parts, query, bounds, most, tasks).hits,
    )
    return replace(answer, trace=(*found.trace, *answer.trace)), found.hits[:top_k]


def retrieved(parts: Parts, question: str, bounds: Bounds, top_k: int, tasks: LanguageTasks | None = None) -> Retrieved:
    """Retrieve the hits to answer from, or their source messages if `retrieval.answering = "memory-doc"`."""
    found = parts.retriever.retrieve(question, bounds, top_k=top_k, tasks=tasks)
    if parts.config.retrieval.answering == "memory-doc":
        return replace(found, hits=parts.retriever.behind(question, found.hits, bounds))
    return found


def answer_from(
    parts: Parts,
    tasks: LanguageTasks,
    question: str,
    hits: Sequence[Hit],
    answerability: float,
    *,
    top_k: int,
    user_id: str,
    now: datetime,
    search_again: SearchAgain | None = None,
) -> Answer:
    """Answer from hits; only the first `top_k` may be quoted.

    If the tasks only quote, the trained reader reads all hits and puts a short answer before the quotations. With
    `search_again`, an unsure reader may search again using what it read (`reading.hops`). If the tasks use a language
    model, the model only answers questions that the reader can't answer confidently enough
    (`reading.instead_of_model`), and gets the reader's confidence that the hits contain the answer.
    """

    def ask_model(prior: float = 0.5) -> Answer:
        with parts.database.read(user_id) as connection:
            asker = speakers.asker_of(connection, user_id).name
        return tasks.answer(AskedQuestion(question, answerability, asker, now, prior), hits[:top_k])

    reader = _reader_beside(parts, tasks, question)
    if reader is None:
        return ask_model()
    quoting = tasks if _quotes(tasks) else parts.embedded_tasks
    read = reader.answer(
        question,
        hits,
        quoting.answer(AskedQuestion(question, answerability), hits[:top_k]),
        answerability=answerability,
        user_id=user_id,
        now=now,
        search_again=search_again,
    )
    if _quotes(tasks):
        return read
    if not read.abstained and read.confidence >= parts.config.reading.instead_of_model:
        return replace(read, trace=(*read.trace, "the language model was not asked"))
    unsure = parts.config.reading.unsure
    return ask_model(prior=min(read.confidence, unsure) if read.abstained else read.confidence)


def _reader_beside(parts: Parts, tasks: LanguageTasks, question: str) -> ReaderQA | None:
    """Return the reader if the tasks quote messages or if it can save model calls; otherwise None, so that it isn't
    loaded. It only knows English, and gives short answers.
    """
    short = intent(question) not in ("overview", "advice")
    spares = parts.config.reading.instead_of_model < 1 and short and script(question) == "latin"
    return parts.reader_qa if _quotes(tasks) or spares else None


def _quotes(tasks: LanguageTasks) -> bool:
    return isinstance(tasks, QuotingTasks) and tasks.quotes
