"""Answer a question from facts, or else from messages; queued messages are read first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from nscma_torch.answering.from_facts import from_facts
from nscma_torch.answering.from_messages import from_messages
from nscma_torch.answering.parts import Parts
from nscma_torch.core.errors import EngineUnavailableError, ReplyError
from nscma_torch.core.records import Answer, Hit
from nscma_torch.reading.cues import only_small_talk
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.text.scripts import script


def answered(
    parts: Parts,
    question: str,
    bounds: Bounds,
    *,
    now: datetime,
    as_of: datetime | None,
    follows: Answer | None,
    top_k: int,
) -> tuple[Answer, Sequence[Hit]]:
    """Answer a question, and return the answer with the hits it is based on.

    If the language model is unreachable, overloaded or too slow, or its reply is unusable, the embedded tasks answer
    and a note reports that. If the model refuses the request, an error is raised, because the configuration must
    change.
    """
    if only_small_talk(question):
        return Answer(nothing_asked(question), True, 0.0, (), ("small talk",)), []
    notes = parts.settling.settle(bounds.scope.user_id).notes()
    if not bounds.metadata and bounds.record is None:
        before = None if follows is None else follows.query
        told = from_facts(parts, question, bounds.scope, now=now, as_of=as_of, follows=before)
        if told is not None:
            return _noted(told, notes), [evidence.hit for evidence in told.evidence]
    try:
        answer, hits = from_messages(parts, parts.tasks, question, bounds, top_k)
    except (EngineUnavailableError, ReplyError) as error:
        answer, hits = from_messages(parts, parts.embedded_tasks, question, bounds, top_k)
        notes = (*notes, f"answered without the language model: {error}")
    return _noted(answer, notes), hits


def nothing_asked(text: str) -> str:
    """Return the reply to small talk, in its language."""
    if script(text) == "cjk":
        return "这不是对记忆的提问；请问说过的事情。"
    return "That isn't a question about your memories; ask about something that was said."


def _noted(answer: Answer, notes: tuple[str, ...]) -> Answer:
    return replace(answer, notes=notes, trace=(*notes, *answer.trace))
