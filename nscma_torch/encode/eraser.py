"""Erasure across everything that saw a text: rows, indexes, and the state that streams carry; ends with a receipt."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.buffer.gate import MessageGate
from nscma_torch.buffer.surprise import deflated_size
from nscma_torch.encode.nearness import stored_vectors, wordings
from nscma_torch.encode.stages import Stages
from nscma_torch.encode.weighing import OPTIMISTIC_ATTEMPTS, Past, Weighed, said_in, weigh
from nscma_torch.errors import NotFoundError
from nscma_torch.protocols import Proxy
from nscma_torch.records import EraseReceipt
from nscma_torch.storage import episodes, erase, statistics, streams, turns
from nscma_torch.storage.database import Database
from nscma_torch.storage.erase import Erased
from nscma_torch.storage.streams import Stream
from nscma_torch.text.restatement import wording


@dataclass(frozen=True, slots=True)
class _Remaining:
    """What remains of a stream: row number, text and observation of each message, and their vectors [n, d]."""

    rows: list[tuple[int, str, dict[str, Any]]]
    vectors: Tensor | None  # None where the gate saw none


class Eraser:
    """Deletes a user, or one episode, for real, and checks the files afterwards."""

    def __init__(self, database: Database, proxy: Proxy, gate: MessageGate) -> None:
        self._database = database
        self._proxy = proxy
        self._gate = gate

    def user(self, user_id: str) -> EraseReceipt:
        """Erase everything of a user. Raises `NotFoundError` for a user without memory."""
        with self._database.write() as connection:
            texts = erase.texts_of_user(connection, user_id)
            if user_id not in statistics.users_of(connection):
                raise NotFoundError(f"user {user_id!r} has no memory in this store; nothing was erased")
            rows = erase.delete_user(connection, user_id)
        return self._receipt(user_id, None, rows, (), texts)

    def episode(self, user_id: str, episode_id: str) -> EraseReceipt:
        """Erase one episode with all that came of it, and recompute the state of its stream without it.

        Replies of a controller that were written from it go too. The state is computed outside the transaction, as in
        `Writer`; if the stream moves meanwhile, again.
        """
        with self._database.read() as connection:
            replies = turns.quoting(connection, user_id, [episode_id])
        gone = [self._erase(user_id, one) for one in (*replies, episode_id)]
        rows = Counter[str]()
        for erased, _ in gone:
            rows.update(erased.rows)
        rebuilt = dict.fromkeys(one for erased, stream_id in gone for one in (stream_id, *erased.rebuilt))
        texts = [text for erased, _ in gone for text in erased.texts]
        return self._receipt(user_id, episode_id, dict(rows), tuple(rebuilt), texts)

    def _erase(self, user_id: str, episode_id: str) -> tuple[Erased, str]:
        """Erase one episode; returns what went, and the id of its stream."""
        for _ in range(OPTIMISTIC_ATTEMPTS):
            with self._database.read() as connection:
                stream, remaining = self._without(connection, user_id, episode_id)
            weighed = self._rebuilt(remaining)
            with self._database.write() as connection:
                if streams.unmoved(connection, stream):
                    erased = self._commit(connection, user_id, episode_id, stream, remaining, weighed)
                    break
        else:
            with self._database.write() as connection:
                stream, remaining = self._without(connection, user_id, episode_id)
                weighed = self._rebuilt(remaining)
                erased = self._commit(connection, user_id, episode_id, stream, remaining, weighed)
        return erased, stream.id

    def _without(self, connection: Connection, user_id: str, episode_id: str) -> tuple[Stream, _Remaining]:
        """The episode's stream, and what of it will remain."""
        seq, episode = episodes.require(connection, user_id, episode_id)
        stream = streams.load(connection, episode.scope, episode.source)
        rows = [row for row in episodes.observations(connection, stream.id) if row[0] != seq]
        vectors = None
        if any(observation.get("nearest") is not None for _, _, observation in rows):
            positions = episodes.positions(connection, stream.id)
            vectors = stored_vectors(connection, stream.id, [positions[own] for own, _, _ in rows])
        return stream, _Remaining(rows, vectors)

    def _rebuilt(self, remaining: _Remaining) -> Weighed:
        texts, vectors = [text for _, text, _ in remaining.rows], remaining.vectors
        return weigh(texts, Past(), self._proxy, self._gate, Stages(), None if vectors is None else vectors.clone)

    def _commit(
        self,
        connection: Connection,
        user_id: str,
        episode_id: str,
        stream: Stream,
        remaining: _Remaining,
        weighed: Weighed,
    ) -> Erased:
        """Delete the episode's rows, and set its stream's state and what the gate saw of later messages.

        Decisions stay: they say what was known when the message came. `replay` decides again.
        """
        seq, _ = episodes.require(connection, user_id, episode_id)
        erased = erase.delete_episode(connection, seq)
        for (later, text, stored), seen in zip(remaining.rows, weighed.observations, strict=True):
            if later > seq:
                repeat = seen.repeat or (stored["repeat"] and _said(connection, user_id, later, text))
                seen = replace(seen, repeat=repeat, learned=stored.get("learned"))  # the head sees no other message
                observation = json.dumps(seen.to_dict(), sort_keys=True)
                episodes.set_columns(connection, later, observation=observation)
        streams.touch_user(connection, user_id, changed=True)
        streams.save(
            connection,
            stream,
            next_position=stream.next_position,
            proxy_fingerprint=self._proxy.fingerprint,
            proxy_state=weighed.proxy_state,
            gate_state=weighed.gate_state.to_bytes().decode(),
        )
        return erased

    def _receipt(
        self, user_id: str, item_id: str | None, rows: dict[str, int], rebuilt: tuple[str, ...], texts: list[str]
    ) -> EraseReceipt:
        for cached in (wording, wordings, deflated_size):  # their keys are texts
            cached.cache_clear()
        erase.rewrite(self._database)
        files, found = erase.remaining(self._database, texts)
        return EraseReceipt(user_id, item_id, rows, rebuilt, tuple(str(path) for path in files), found)


def _said(connection: Connection, user_id: str, seq: int, text: str) -> bool:
    """Whether the user's memory held a text, or all that it quotes, before the episode that says it."""
    whole, *quoted = said_in(text)
    return any(episodes.said_before(connection, user_id, seq, hashes) for hashes in ([whole], quoted))
