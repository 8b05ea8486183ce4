"""Follow requests in messages to forget something that was said: hide the messages that told it.

"Please forget what I said about the gate code" hides the speaker's message that the trained reader, or without one the
search, finds for "the gate code"; a request without a topic hides the speaker's message before it. Hidden messages can
be restored.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from nscma_torch.answering.parts import Parts
from nscma_torch.core.records import Episode, Hit, Scope
from nscma_torch.episodic.log import episodes, turns
from nscma_torch.maintenance.edits import Editor
from nscma_torch.reading.forget_request import forget_request
from nscma_torch.reading.turn_forms import only_asks
from nscma_torch.reading.turns_before import TURNS_BEFORE
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.text.terms import terms

_SEARCHED = 10  # passages among which the message is found
_REPEATED = 1.0  # least share of the topic's words in another message that tells the same


def asks_to_forget(role: str, text: str) -> bool:
    """Return True if a message of this role asks to forget something."""
    return role == "user" and forget_request(text) is not None


def follow(parts: Parts, editor: Editor, scope: Scope, memory_id: str, *, now: datetime) -> list[str]:
    """Hide what a stored message asks to forget; return the ids of the hidden messages.

    The history of each gives the message as the reason. Only messages by the same speaker that were said earlier are
    hidden, and none if nothing fits.
    """
    with parts.database.read(scope.user_id) as connection:
        _, request = episodes.require(connection, scope.user_id, memory_id)
        topic = forget_request(request.text)
        before = turns.said_before(connection, scope.user_id, [memory_id], TURNS_BEFORE).get(memory_id, [])
    if topic:
        told = _told_about(parts, scope, topic, request)
    else:
        told = [one.id for one in before if (one.role, one.name) == (request.role, request.name)][-1:]
    if told:
        editor.delete(scope.user_id, told, at=now, reason=f"message {memory_id} asks to forget it")
    return told


def _told_about(parts: Parts, scope: Scope, topic: str, request: Episode) -> list[str]:
    """Return the ids of the speaker's earlier messages on a topic: the likeliest, and others with all of its words."""
    config = parts.config
    skew = timedelta(seconds=config.limits.max_clock_skew)
    bounds = Bounds(scope, request.occurred_at, skew, ("chunk",))
    question = f"What did I say about {topic}?"
    hits = parts.retriever.retrieve(topic, bounds, top_k=2 * _SEARCHED).hits
    own = [hit for hit in hits if _by_same_speaker(hit, request)][:_SEARCHED]
    if not own:
        return []
    scores = [hit.score for hit in own]
    if parts.reader_qa is not None:
        scores = parts.reader_qa.relevance(question, own, bounds)
    likeliest = max(zip(scores, own, strict=True), key=lambda pair: pair[0])[1]
    words = set(terms(topic))
    same = [hit for hit in own if words and len(words.intersection(terms(hit.text))) >= _REPEATED * len(words)]
    return list(dict.fromkeys(episode_id for hit in (likeliest, *same) for episode_id in hit.unit.episode_ids))


def _by_same_speaker(hit: Hit, request: Episode) -> bool:
    unit = hit.unit
    return (
        (unit.role, unit.name) == (request.role, request.name)
        and unit.occurred_at <= request.occurred_at
        and request.id not in unit.episode_ids
        and not only_asks(unit.text)
    )
