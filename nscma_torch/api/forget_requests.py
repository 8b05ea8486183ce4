"""Follow requests in messages to forget something that was said: hide the messages that told it.

"Please forget what I said about the gate code" hides the speaker's message that tells the gate code. Hidden messages
can be restored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import torch
from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.answering.parts import Parts
from nscma_torch.core.records import Added, Episode, Hit, Scope
from nscma_torch.episodic.index import packed_vectors, units
from nscma_torch.episodic.log import episodes, turns
from nscma_torch.maintenance.edits import Editor
from nscma_torch.reading.forget_requests import ForgetRequests
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.text.messages import CheckedMessage

ASKED = 0.6  # least probability of a request; with an author left out .76 of requests reach it
MEANT = 0.3  # least probability that a request means the likeliest of the messages before it
MEANT_BEFORE = 0.5  # the same of an older message: there are many that are alike
ALSO_MEANT = 0.8  # the same of further messages
_BEFORE = 6  # messages before a request
_SEARCHED = 20  # older ones among which a message is found


class ForgetFollower:
    """Hides what new messages ask to forget."""

    def __init__(self, parts: Parts, editor: Editor, requests: ForgetRequests) -> None:
        self._parts = parts
        self._editor = editor
        self._requests = requests

    def follow(
        self, scope: Scope, added: Sequence[Added], messages: Sequence[CheckedMessage], *, now: datetime
    ) -> list[Added]:
        """Hide what the new ones among added messages ask to forget; return them with the ids of the hidden messages.

        The history of each gives the message as the reason. Only earlier messages by the same speaker are hidden, and
        none if nothing fits.
        """
        followed: list[Added] = []
        for own, message in zip(added, messages, strict=True):
            said, told = message.message, []
            if own.event == "ADD" and said.role == "user" and self._asks(scope, own.id, said.content):
                told = self._told(scope, own.id)
            if told:
                self._editor.delete(scope.user_id, told, at=now, reason=f"message {own.id} asks to forget it")
            followed.append(replace(own, hidden=tuple(told)) if told else own)
        return followed

    def _asks(self, scope: Scope, memory_id: str, text: str) -> bool:
        with self._parts.database.read(scope.user_id) as connection:
            vectors = _vectors(connection, scope, memory_id)
        return self._requests.suspects(vectors) and self._requests.asked(text) >= ASKED

    def _told(self, scope: Scope, memory_id: str) -> list[str]:
        """Return the ids of the speaker's earlier messages that a request means.

        Most requests mean one of the messages right before; the others are searched if none of these fits.
        """
        with self._parts.database.read(scope.user_id) as connection:
            _, request = episodes.require(connection, scope.user_id, memory_id)
            before = turns.said_before(connection, scope.user_id, [memory_id], _BEFORE).get(memory_id, [])
        recent = {one.id: one.text for one in before if (one.role, one.name) == (request.role, request.name)}
        if told := self._meant(request, recent, MEANT):
            return told
        skew = timedelta(seconds=self._parts.config.limits.max_clock_skew)
        bounds = Bounds(scope, request.occurred_at, skew, ("chunk",))
        hits = self._parts.retriever.retrieve(request.text, bounds, top_k=_SEARCHED + 1).hits
        units = [hit.unit for hit in hits if _by_same_speaker(hit, request)]
        return self._meant(request, {unit.episode_ids[0]: unit.text for unit in units}, MEANT_BEFORE)

    def _meant(self, request: Episode, earlier: Mapping[str, str], least: float) -> list[str]:
        """Return the ids of the messages, by id, that a request means: the likeliest one, and others like it."""
        likely = dict(zip(earlier, self._requests.meant(request.text, list(earlier.values())), strict=True))
        most = max(likely.values(), default=0.0)
        return [one for one, p in likely.items() if most >= least and (p == most or p >= ALSO_MEANT)]


def _vectors(connection: Connection, scope: Scope, memory_id: str) -> Tensor:  # [n, d]
    """Return the vectors of a message's chunks, if it is embedded."""
    (seq,) = episodes.seqs_of(connection, scope.user_id, [memory_id])
    found = packed_vectors.vectors_of(connection, units.seqs_of_episode(connection, seq, "chunk"))
    return torch.stack([torch.from_numpy(own.copy()) for own in found.values()]) if found else torch.empty(0, 0)


def _by_same_speaker(hit: Hit, request: Episode) -> bool:
    unit = hit.unit
    return (
        (unit.role, unit.name) == (request.role, request.name)
        and unit.occurred_at <= request.occurred_at
        and request.id not in unit.episode_ids
    )
