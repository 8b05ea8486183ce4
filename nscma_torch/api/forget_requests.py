"""Follow requests in messages to forget something that was said: hide the messages that told it.

"Please forget what I said about the gate code" hides the speaker's message that tells the gate code. The request often
repeats what is to be forgotten, so it is removed from search and gets no facts. Both can be undone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
        said = {
            own.id: message.message.content
            for own, message in zip(added, messages, strict=True)
            if own.event == "ADD" and message.message.role == "user"
        }
        followed = list(added)
        for memory_id in self._asking(scope, said):
            if told := self._told(scope, memory_id):
                self._editor.delete(scope.user_id, told, at=now, reason=f"message {memory_id} asks to forget it")
                self._editor.set_aside(scope.user_id, memory_id, at=now, reason="it asks to forget what was said")
                place = next(i for i, own in enumerate(added) if own.id == memory_id)
                followed[place] = replace(added[place], hidden=tuple(told))
        return followed

    def _asking(self, scope: Scope, said: Mapping[str, str]) -> list[str]:
        """Return the ids of the messages, by id, that ask to forget something."""
        with self._parts.database.read(scope.user_id) as connection:
            vectors = _vectors(connection, scope, said)
        return [
            memory_id
            for memory_id, text in said.items()
            if self._requests.suspects(vectors[memory_id]) and self._requests.asked(text) >= ASKED
        ]

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


def _vectors(connection: Connection, scope: Scope, ids: Collection[str]) -> dict[str, Tensor]:
    """Return the vectors of each message's chunks, [n, d]; [0, 0] if it is not embedded."""
    seqs = episodes.seqs_of(connection, scope.user_id, ids)
    chunks = units.active_chunks(connection, sorted(seqs))
    stored = packed_vectors.vectors_of(connection, [unit for own in chunks.values() for unit in own])
    found = {memory_id: torch.empty(0, 0) for memory_id in ids}
    for seq, memory_id in seqs.items():
        if own := [torch.from_numpy(stored[unit].copy()) for unit in chunks.get(seq, ()) if unit in stored]:
            found[memory_id] = torch.stack(own)
    return found


def _by_same_speaker(hit: Hit, request: Episode) -> bool:
    unit = hit.unit
    return (
        (unit.role, unit.name) == (request.role, request.name)
        and unit.occurred_at <= request.occurred_at
        and request.id not in unit.episode_ids
    )
