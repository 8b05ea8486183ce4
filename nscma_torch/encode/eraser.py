"""Erasure across everything that saw a text: rows, indexes, and the state that streams carry; ends with a receipt."""

from __future__ import annotations

from typing import Any

from nscma_torch.buffer.gate import GateState, SurpriseGate
from nscma_torch.buffer.observation import Observation
from nscma_torch.errors import NotFoundError
from nscma_torch.protocols import Proxy
from nscma_torch.records import EraseReceipt
from nscma_torch.storage import episodes, erase, streams
from nscma_torch.storage.database import Database


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
            if not streams.of_user(connection, user_id):
                raise NotFoundError(f"user {user_id!r} has no memory in this store; nothing was erased")
            rows = erase.delete_user(connection, user_id)
        return self._receipt(user_id, None, rows, (), texts)

    def episode(self, user_id: str, episode_id: str) -> EraseReceipt:
        """Erase one episode, its units and its history, and recompute the state of its stream without it."""
        with self._database.write() as connection:
            seq = episodes.seq_of(connection, user_id, episode_id)
            episode = None if seq is None else episodes.find(connection, user_id, episode_id)
            if seq is None or episode is None:
                raise NotFoundError(f"user {user_id!r} has no memory with id {episode_id!r}; nothing was erased")
            texts = erase.texts_of_episode(connection, seq)
            rows = erase.delete_episode(connection, seq)
            stream = streams.load(connection, episode.scope, episode.source)
            streams.touch_user(connection, user_id, changed=True)
            proxy_state, gate_state = self._rebuilt(episodes.observations(connection, stream.id))
            streams.save(
                connection,
                stream,
                next_position=stream.next_position,
                proxy_fingerprint=self._proxy.fingerprint,
                proxy_state=proxy_state,
                gate_state=gate_state.to_bytes().decode(),
            )
        return self._receipt(user_id, episode_id, rows, (stream.id,), texts)

    def _rebuilt(self, kept: list[tuple[int, str, dict[str, Any]]]) -> tuple[bytes | None, GateState]:
        """The state of the proxy and the gate after the texts and observations that remain."""
        texts = [text for _, text, _ in kept]
        proxy_state = self._proxy.score([texts], [None])[0].state if texts else None
        gate_state = GateState()
        for _, _, observation in kept:
            gate_state = self._gate.decide(Observation.from_dict(observation), gate_state)[1]
        return proxy_state, gate_state

    def _receipt(
        self, user_id: str, item_id: str | None, rows: dict[str, int], rebuilt: tuple[str, ...], texts: list[str]
    ) -> EraseReceipt:
        erase.rewrite(self._database)
        files, found = erase.remaining(self._database, texts)
        return EraseReceipt(user_id, item_id, rows, rebuilt, tuple(str(path) for path in files), found)
