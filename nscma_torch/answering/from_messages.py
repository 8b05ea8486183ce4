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
    from nscma_torch.answering.reader_qa import SearchAgain
    from nscma_torch.search.search import Retrieved


def from_messages(
    parts: Parts, tasks: LanguageTasks, question: str, bounds: Bounds, top_k: int
) -> tuple[Answer, Sequence[Hit]]:
    """Return the answer from one search, and the first `top_k` hits, which the answer may quote."""
    reads = (_quotes(tasks) or _reads_first(parts, question)) and parts.reader_qa is not None
    most = max(top_k, parts.config.reading.passages) if reads else top_k
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
    model, the model only answers questions that the reader can't answer confidently enough; see `read_first`.
    """
    if _quotes(tasks):
        quoted = tasks.answer(AskedQuestion(question, answerability), hits[:top_k])
        if parts.reader_qa is None:
            return quoted
        return parts.reader_qa.answer(
            question,
            hits,
            quoted,
            user_id=user_id,
            now=now,
            search_again=search_again,
        )
    sure, prior = read_first(
        parts, question, hits, answerability, top_k=top_k, user_id=user_id, now=now, search_again=search_again
    )
    if sure is not None:
        return sure
    with parts.database.read(user_id) as connection:
        asker = speakers.asker_of(connection, user_id).name
    return tasks.answer(AskedQuestion(question, answerability, asker, now, prior), hits[:top_k])


def read_first(
    parts: Parts,
    question: str,
    hits: Sequence[Hit],
    answerability: float,
    *,
    top_k: int,
    user_id: str,
    now: datetime,
    search_again: SearchAgain | None = None,
) -> tuple[Answer | None, float]:
    """Have the trained reader answer before a language model is asked.

    Returns its answer if its confidence is at least `reading.instead_of_model`, or if what it found is known not to
    hold any more or to be deleted; else None. The second result is its probability that the hits contain the answer:
    0.5 for a question that it can't read.
    """
    if not _reads_first(parts, question) or parts.reader_qa is None:
        return None, 0.5
    attempt = parts.reader_qa.attempt(question, hits, user_id=user_id, now=now, search_again=search_again)
    quoted = parts.embedded_tasks.answer(AskedQuestion(question, answerability), hits[:top_k])
    read = parts.reader_qa.worded(attempt, quoted)
    sure = not read.abstained and read.confidence >= parts.config.reading.instead_of_model
    if not (sure or (read.abstained and attempt.unknown_for_a_reason)):
        return None, attempt.answerable
    return replace(read, trace=(*read.trace, "the language model was not asked")), attempt.answerable


def _reads_first(parts: Parts, question: str) -> bool:
    """Return True if the reader can save model calls. It only knows English, and gives short answers."""
    short = intent(question) not in ("overview", "advice")
    return parts.config.reading.instead_of_model < 1 and short and script(question) == "latin"


def _quotes(tasks: LanguageTasks) -> bool:
    return isinstance(tasks, QuotingTasks) and tasks.quotes
