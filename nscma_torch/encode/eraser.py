"""Erasure across everything that saw a text: rows, indexes, and the state that streams carry; ends with a receipt."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import Connection

from nscma_torch.buffer.gate import SurpriseGate
from nscma_torch.encode.stages import Stages
from nscma_torch.encode.weighing import OPTIMISTIC_ATTEMPTS, Past, Weighed, weigh
from nscma_torch.errors import NotFoundError
from nscma_torch.protocols import Proxy
from nscma_torch.records import EraseReceipt
from nscma_torch.storage import episodes, erase, statistics, streams, turns
from nscma_torch.storage.database import Database
from nscma_torch.storage.erase import Erased
from nscma_torch.storage.streams import Stream


class Eraser:
    """Deletes a user, or one episode, for real, and checks the files afterwards."""

    def __init__(self, database: Database, proxy: Proxy, gate: SurpriseGate) -> None:
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
            replies = turns.quoting(connection, user_id, episode_id)
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
                stream, texts = self._without(connection, user_id, episode_id)
            weighed = self._rebuilt(texts)
            with self._database.write() as connection:
                if streams.unmoved(connection, stream):
                    erased = self._commit(connection, user_id, episode_id, stream, weighed)
                    break
        else:
            with self._database.write() as connection:
                stream, texts = self._without(connection, user_id, episode_id)
                weighed = self._rebuilt(texts)
                erased = self._commit(connection, user_id, episode_id, stream, weighed)
        return erased, stream.id

    def _without(self, connection: Connection, user_id: str, episode_id: str) -> tuple[Stream, list[str]]:
        """The episode's stream, and the weighed texts of it that will remain."""
        seq, episode = episodes.require(connection, user_id, episode_id)
        stream = streams.load(connection, episode.scope, episode.source)
        return stream, [text for other, text, _ in episodes.observations(connection, stream.id) if other != seq]

    def _rebuilt(self, texts: list[str]) -> Weighed:
        return weigh(texts, Past(), self._proxy, self._gate, Stages())

    def _commit(
        self, connection: Connection, user_id: str, episode_id: str, stream: Stream, weighed: Weighed
    ) -> Erased:
        """Delete the episode's rows and set its stream's state."""
        seq, _ = episodes.require(connection, user_id, episode_id)
        erased = erase.delete_episode(connection, seq)
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
        erase.rewrite(self._database)
        files, found = erase.remaining(self._database, texts)
        return EraseReceipt(user_id, item_id, rows, rebuilt, tuple(str(path) for path in files), found)
