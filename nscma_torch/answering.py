"""How a question is answered: what was said last is read, then the facts are asked, then the messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from nscma_torch.components import Components
from nscma_torch.errors import EngineUnavailableError
from nscma_torch.protocols import LanguageTasks, QuotingTasks
from nscma_torch.reading.cues import only_small_talk
from nscma_torch.records import Answer, Hit, Unit
from nscma_torch.retrieval.search_bounds import Bounds
from nscma_torch.text.scripts import script
from nscma_torch.text.timestamps import format_day

if TYPE_CHECKING:
    from nscma_torch.retrieval.fact_qa import Renewable
    from nscma_torch.retrieval.reader_qa import ReaderQA, SearchAgain
    from nscma_torch.retrieval.search import Retrieved

CHANGED = 0.5  # likelihood of a change to what a fact was made of, from which a newer passage takes its place
_WORD = re.compile(r"\w+")


def answered(
    parts: Components,
    question: str,
    bounds: Bounds,
    *,
    now: datetime,
    as_of: datetime | None,
    follows: Answer | None,
    top_k: int,
) -> tuple[Answer, Sequence[Hit]]:
    """The answer, and the hits that it was made of.

    Where the language model is not reached, does not answer in time or says that it is overloaded, the embedded tasks
    answer, and a note says so. A model that refuses, or replies with what cannot be used, raises: waiting would not
    help.
    """
    if only_small_talk(question):
        return Answer(nothing_asked(question), True, 0.0, (), ("small talk",)), []
    notes = parts.settling.settle(bounds.scope.user_id).notes()
    if parts.config.facts.answer and not bounds.metadata:
        before = None if follows is None else follows.query
        told = parts.fact_qa.ask(question, bounds.scope, now=now, as_of=as_of, follows=before)
        if told is not None:
            found = told if as_of is not None else _held_against(parts, told, question, bounds, now, top_k)
            return _noted(found, notes), [evidence.hit for evidence in found.evidence]
    try:
        answer, hits = _from_messages(parts, parts.tasks, question, bounds, top_k)
    except EngineUnavailableError as error:
        answer, hits = _from_messages(parts, parts.embedded_tasks, question, bounds, top_k)
        notes = (*notes, f"answered without the language model: {error}")
    return _noted(answer, notes), hits


def nothing_asked(text: str) -> str:
    """What is answered to small talk, in its language."""
    if script(text) == "cjk":
        return "这不是对记忆的提问；请问说过的事情。"
    return "That asks nothing of the memory; ask about something that was said."


def retrieved(
    parts: Components, question: str, bounds: Bounds, top_k: int, tasks: LanguageTasks | None = None
) -> Retrieved:
    """What an answer is made of: the hits, or with `retrieval.answering = "memory-doc"` the messages behind them."""
    found = parts.retriever.retrieve(question, bounds, top_k=top_k, tasks=tasks)
    if parts.config.retrieval.answering == "memory-doc":
        return replace(found, hits=parts.retriever.behind(question, found.hits, bounds))
    return found


def answer_from(
    parts: Components,
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
    """The answer that hits give, of which the first `top_k` may be quoted.

    Where the tasks only quote, the trained reader reads all hits and puts a short answer before the quotations; with
    `search_again` it may search once more with what it read (`reading.hops`). Where a language model answers, it is
    asked what the reader is not sure enough of (`reading.instead_of_model`).
    """
    reader = _reader_beside(parts, tasks)
    if reader is None:
        return tasks.answer(question, hits[:top_k], answerability=answerability)
    quoting = tasks if _quotes(tasks) else parts.embedded_tasks
    quoted = quoting.answer(question, hits[:top_k], answerability=answerability)
    read = reader.answer(
        question,
        hits,
        quoted,
        answerability=answerability,
        user_id=user_id,
        now=now,
        search_again=search_again,
    )
    if _quotes(tasks):
        return read
    if not read.abstained and read.confidence >= parts.config.reading.instead_of_model:
        return replace(read, trace=(*read.trace, "the language model was not asked"))
    return tasks.answer(question, hits[:top_k], answerability=answerability)


def _reader_beside(parts: Components, tasks: LanguageTasks) -> ReaderQA | None:
    """The reader, which is loaded only for tasks that quote, or where it may spare a model."""
    return parts.reader_qa if _quotes(tasks) or parts.config.reading.instead_of_model < 1 else None


def _quotes(tasks: LanguageTasks) -> bool:
    return isinstance(tasks, QuotingTasks) and tasks.quotes


def _held_against(parts: Components, told: Answer, question: str, bounds: Bounds, now: datetime, top_k: int) -> Answer:
    """What the facts told, or what the reader is sure of and read in a newer message that renews them, or neither.

    Of facts that may be renewed it is known which message may have done so: the reader's passage must not be older.
    Facts that answer are held against later messages on the matter (`_against_later`).
    """
    if script(question) == "cjk":  # the reader knows English
        return told
    if told.facts:
        renewable = parts.fact_qa.renewable(told, question, bounds.scope, now=now)
        return told if renewable is None else _against_later(parts, told, renewable, question, bounds, top_k)
    read = _surely_read(parts, question, bounds, top_k)
    if read is None:
        return told
    passage = read.evidence[0].hit.unit
    if passage.occurred_at < told.evidence[0].hit.unit.occurred_at:
        return _traced(told, f"read: {_short(read)!r}, of {_day(passage)}, is older than what may renew the facts")
    return replace(read, trace=(*told.trace, *read.trace), query=told.query)


def _against_later(
    parts: Components, told: Answer, renewable: Renewable, question: str, bounds: Bounds, top_k: int
) -> Answer:
    """The facts' answer where no later message changes what they were made of.

    Else the reader's, where it is sure of it and read it in a message that does, or says the same as the facts; else
    both messages, as not sure, unless some statement was read from the newer one.
    """
    reader = parts.reader_qa
    if reader is None:
        return told
    user_id = bounds.scope.user_id
    found = reader.changes(renewable.source, renewable.later, user_id=user_id, now=bounds.now)
    changing = [(unit, kind, likely) for unit, (kind, likely) in zip(renewable.later, found, strict=True)]
    changing = [one for one in changing if one[2] >= CHANGED]
    if not changing:
        likely = max(likely for _, likely in found)
        return _traced(told, f"{len(found)} later messages on the matter change nothing ({likely:.2f})")
    newer, kind, likely = next((one for one in changing if renewable.unread & set(one[0].episode_ids)), changing[0])
    reason = f"a message of {_day(newer)} is newer than the facts, and {kind} what they say ({likely:.2f})"
    read = _surely_read(parts, question, bounds, top_k)
    if read is not None:
        own = read.evidence[0].hit.unit.episode_ids
        by = next((one for one in changing if set(one[0].episode_ids) & set(own)), None)
        if by is not None and _agree(_short(read), told.text):
            return _traced(told, f"read: {_short(read)!r} of {_day(by[0])}, as the facts tell")
        if by is not None:
            newer, kind, likely = by
            reason = f"{_short(read)!r}, of {_day(newer)}, is newer than {told.text!r}, which it {kind} ({likely:.2f})"
            return replace(read, trace=(*told.trace, *read.trace, reason), query=told.query)
    if not renewable.unread.intersection(newer.episode_ids):
        return _traced(told, f"{reason}; but what it states was read, and is another matter")
    return _traced(parts.fact_qa.doubted(told, newer), reason)


def _surely_read(parts: Components, question: str, bounds: Bounds, top_k: int) -> Answer | None:
    """The reader's answer, where it is sure of it."""
    if parts.reader_qa is None:
        return None
    read, _ = _from_messages(parts, parts.embedded_tasks, question, bounds, top_k)
    return None if read.abstained or read.confidence < parts.config.reading.sure else read


def _short(answer: Answer) -> str:
    return answer.text.partition("\n")[0]


def _day(unit: Unit) -> str:
    return format_day(unit.occurred_at.date())


def _agree(one: str, other: str) -> bool:
    """Whether all words of one value are among those of the other."""
    first, second = (set(_WORD.findall(text.casefold())) for text in (one, other))
    return first <= second or second <= first


def _traced(answer: Answer, line: str) -> Answer:
    return replace(answer, trace=(*answer.trace, line))


def _from_messages(
    parts: Components, tasks: LanguageTasks, question: str, bounds: Bounds, top_k: int
) -> tuple[Answer, Sequence[Hit]]:
    most = top_k if _reader_beside(parts, tasks) is None else max(top_k, parts.config.reading.passages)
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


def _noted(answer: Answer, notes: tuple[str, ...]) -> Answer:
    return replace(answer, notes=notes, trace=(*notes, *answer.trace))
