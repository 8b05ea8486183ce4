"""Erase a text from rows, indexes and stream states, and return a receipt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.core.capabilities import Erased, capability
from nscma_torch.core.database.database import NO_USER, Database
from nscma_torch.core.erasable_cache import erase_caches
from nscma_torch.core.errors import NotFoundError, StoreBusyError
from nscma_torch.core.optional_parts import SkillRows
from nscma_torch.core.protocols import SurpriseModel
from nscma_torch.core.records import Episode, EraseReceipt
from nscma_torch.curator import statistics
from nscma_torch.episodic.index import unit_changes
from nscma_torch.episodic.log import episodes, streams, turns
from nscma_torch.episodic.log.streams import Stream
from nscma_torch.ingest.gating import OPTIMISTIC_ATTEMPTS, SERVED_ATTEMPTS, Past, content_hashes, gate_messages
from nscma_torch.ingest.novelty import stored_vectors
from nscma_torch.ingest.stages import Stages
from nscma_torch.maintenance import file_erasure
from nscma_torch.maintenance.rereading import read_again_after
from nscma_torch.reading.turns_before import TURNS_BEFORE
from nscma_torch.surprise.gate import MessageGate
from nscma_torch.surprise.observation import Observation


@dataclass(frozen=True, slots=True)
class _Remaining:
    """The part of a stream that remains: row number, text and observation of each message, and the messages' vectors
    [n, d].
    """

    stream: Stream
    first: int  # row number of the first message that goes
    rows: list[tuple[int, str, dict[str, Any]]]
    vectors: Tensor | None  # None where the gate saw none


@dataclass(frozen=True, slots=True)
class _Progress:
    """Progress in scoring a stream's remaining messages, from which another attempt can continue."""

    said: list[tuple[int, str]]  # row number and text
    vectors: Tensor | None
    observations: list[Observation]
    past: Past  # after them

    def leads_to(self, remaining: _Remaining) -> bool:
        """Return True if the scored messages are the first of the remaining messages."""
        count = len(self.said)
        if self.said != [(seq, text) for seq, text, _ in remaining.rows[:count]]:
            return False
        if self.vectors is None or remaining.vectors is None:
            return self.vectors is remaining.vectors
        return torch.equal(self.vectors, remaining.vectors[:count])

    def covers(self, remaining: _Remaining) -> bool:
        """Return True if all remaining messages are scored."""
        return len(self.said) == len(remaining.rows) and self.leads_to(remaining)


class Eraser:
    """Permanently deletes a user, an episode or a skill, and checks the store's files afterwards.

    Args:
        served: True if the surprise model is called over a network, and thus never inside a transaction.
        reach: the configured number of earlier messages that each message is read with; the store may have used more.
    """

    def __init__(
        self,
        database: Database,
        surprise_model: SurpriseModel,
        gate: MessageGate,
        *,
        served: bool,
        reach: int = TURNS_BEFORE,
    ) -> None:
        self._served = served
        self._reach = reach
        self._database = database
        self._surprise_model = surprise_model
        self._gate = gate

    def user(self, user_id: str) -> EraseReceipt:
        """Erase all of a user's data. Raises `NotFoundError` for a user without memory."""
        rows: dict[str, int] = {}
        with self._database.write(user_id) as connection:
            texts = file_erasure.texts_of_user(connection, user_id)
            if user_id in statistics.users_of(connection):
                rows = file_erasure.delete_user(connection, user_id)
                file_erasure.promise_rewrite(connection)
            elif not file_erasure.rewrite_due(connection):
                raise NotFoundError(f"user {user_id!r} has no memory in this store; nothing was erased")
        return self._receipt(user_id, None, rows, (), texts, ())

    def skill(self, user_id: str, skill_id: str) -> EraseReceipt:
        """Erase one skill. Raises `NotFoundError` for an unknown id."""
        skills: SkillRows = capability("skills").rows
        with self._database.write(user_id) as connection:
            if file_erasure.rewrite_due(connection) and skills.find(connection, user_id, skill_id) is None:
                erased = Erased()
            else:
                erased = Erased(texts=skills.texts(connection, user_id, skill_id), ids=[skill_id])
                erased.rows.update(skills.remove(connection, skill_id))
                file_erasure.delete_empty_scopes(connection, user_id)
                file_erasure.promise_rewrite(connection)
                unit_changes.void(connection, user_id)
                streams.touch_user(connection, user_id, changed=True)
        return self._receipt(user_id, skill_id, dict(erased.rows), (), erased.texts, erased.ids)

    def finish(self) -> None:
        """Rewrite the files if an earlier erasure deleted rows but failed to rewrite them."""
        with self._database.read(NO_USER) as connection:
            due = file_erasure.rewrite_due(connection)
        if due:
            erase_caches()
            file_erasure.rewrite(self._database)

    def episode(self, user_id: str, episode_id: str) -> EraseReceipt:
        """Erase one episode like `episodes`, rewrite the files, and search them."""
        with self._database.read(user_id) as connection:
            ends = file_erasure.rewrite_due(connection) and episodes.find(connection, user_id, episode_id) is None
        erased = Erased() if ends else self.episodes(user_id, [episode_id])
        rebuilt = tuple(dict.fromkeys(erased.rebuilt))
        return self._receipt(user_id, episode_id, dict(erased.rows), rebuilt, erased.texts, erased.ids)

    def episodes(self, user_id: str, episode_ids: Sequence[str]) -> Erased:
        """Erase episodes with all derived data, and recompute their streams' states without them. Call `finish` to
        rewrite the files.

        Replies that a controller wrote from it are erased too, in the same transaction. The states are computed outside
        the transaction, once each. If a stream changed meanwhile, another attempt scores the new messages; after a few
        attempts this happens while holding the user's write lock. A served surprise model gets more attempts instead;
        if they all fail, `StoreBusyError` is raised and nothing is erased.
        """
        done: dict[str, _Progress] = {}  # by stream
        for left in reversed(range(SERVED_ATTEMPTS if self._served else OPTIMISTIC_ATTEMPTS)):
            with self._database.read(user_id) as connection:
                remaining = self._without(connection, self._going(connection, user_id, episode_ids))
            done = self._weighed(remaining, done)
            with self._database.write(user_id) as connection:
                gone = self._going(connection, user_id, episode_ids)
                remaining = self._without(connection, gone)
                complete = all(one.stream.id in done and done[one.stream.id].covers(one) for one in remaining)
                if left and not complete:
                    continue
                if self._served and not complete:
                    raise StoreBusyError(
                        f"other writers changed the conversation {SERVED_ATTEMPTS} times while the served model read "
                        "what remains; nothing was erased; erase it again"
                    )
                erased = self._commit(connection, user_id, gone, remaining, self._weighed(remaining, done))
            break
        return erased

    def _going(self, connection: Connection, user_id: str, episode_ids: Sequence[str]) -> list[tuple[int, Episode]]:
        """Return the row number and record of each reply to erase, and of the episodes."""
        replies = turns.quoting(connection, user_id, episode_ids)
        return [episodes.require(connection, user_id, one) for one in dict.fromkeys((*replies, *episode_ids))]

    def _without(self, connection: Connection, gone: Sequence[tuple[int, Episode]]) -> list[_Remaining]:
        """Return the remaining part of each stream that loses messages."""
        going: dict[str, list[int]] = {}
        for seq, episode in gone:
            going.setdefault(episode.stream_id, []).append(seq)
        scopes = {episode.stream_id: (episode.scope, episode.source) for _, episode in gone}
        found = []
        for stream_id, seqs in going.items():
            rows = [row for row in episodes.observations(connection, stream_id) if row[0] not in seqs]
            vectors = None
            if any(observation.get("nearest") is not None for _, _, observation in rows):
                positions = episodes.positions(connection, stream_id)
                vectors = stored_vectors(connection, stream_id, [positions[own] for own, _, _ in rows])
            found.append(_Remaining(streams.load(connection, *scopes[stream_id]), min(seqs), rows, vectors))
        return found

    def _weighed(self, remaining: Sequence[_Remaining], done: Mapping[str, _Progress]) -> dict[str, _Progress]:
        """Score the remaining messages, continuing from `done`."""
        return {one.stream.id: self._carried_on(one, done.get(one.stream.id)) for one in remaining}

    def _carried_on(self, remaining: _Remaining, done: _Progress | None) -> _Progress:
        if done is None or not done.leads_to(remaining):
            done = _Progress([], None if remaining.vectors is None else remaining.vectors[:0], [], Past())
        count, vectors = len(done.said), remaining.vectors
        said = [(seq, text) for seq, text, _ in remaining.rows]
        new, own = [text for _, text in said[count:]], None if vectors is None else vectors[count:]
        weighed = gate_messages(
            new, done.past, self._surprise_model, self._gate, Stages(), None if own is None else own.clone
        )
        return _Progress(said, vectors, done.observations + weighed.observations, done.past.after(new, weighed, own))

    def _commit(
        self,
        connection: Connection,
        user_id: str,
        gone: Sequence[tuple[int, Episode]],
        remaining: Sequence[_Remaining],
        weighed: Mapping[str, _Progress],
    ) -> Erased:
        """Delete the rows, and update the streams' states and the gate's observations of later messages.

        Decisions stay, because they reflect what was known when the message arrived; `replay` decides again.
        """
        read_again_after(connection, user_id, [seq for seq, _ in gone], self._reach, forget=True)
        erased = Erased()
        for seq, _ in gone:
            erased.add(file_erasure.delete_episode(connection, seq))
        file_erasure.promise_rewrite(connection)
        unit_changes.void(connection, user_id)  # no process keeps cached data of deleted units
        streams.touch_user(connection, user_id, changed=True)
        erased.rows.update(file_erasure.delete_empty_scopes(connection, user_id))
        left = [stream for stream in remaining if streams.is_stored(connection, stream.stream.id)]
        for stream in left:
            done = weighed[stream.stream.id]
            for (seq, text, stored), seen in zip(stream.rows, done.observations, strict=True):
                if seq > stream.first:
                    repeat = seen.repeat or (stored["repeat"] and _said(connection, user_id, seq, text))
                    seen = replace(seen, repeat=repeat, learned=stored.get("learned"))  # the head sees no other message
                    observation = json.dumps(seen.to_dict(), sort_keys=True)
                    episodes.set_columns(connection, seq, observation=observation)
            streams.save(
                connection,
                stream.stream,
                next_position=stream.stream.next_position,
                proxy_fingerprint=self._surprise_model.fingerprint,
                proxy_state=done.past.proxy_state,
                gate_state=done.past.gate_state.to_bytes().decode(),
            )
        erased.rebuilt[:0] = [one.stream.id for one in left]
        return erased

    def _receipt(
        self,
        user_id: str,
        item_id: str | None,
        rows: dict[str, int],
        rebuilt: tuple[str, ...],
        texts: Sequence[str],
        ids: Sequence[str],
    ) -> EraseReceipt:
        erase_caches()
        file_erasure.rewrite(self._database)
        files, found = file_erasure.remaining(self._database, texts, ids)
        return EraseReceipt(user_id, item_id, rows, rebuilt, tuple(str(path) for path in files), found)


def _said(connection: Connection, user_id: str, seq: int, text: str) -> bool:
    """Return True if the user's memory contained a text, or all of its quotations, before the episode with that
    text.
    """
    whole, *quoted = content_hashes(text)
    return any(episodes.said_before(connection, user_id, seq, hashes) for hashes in ([whole], quoted))
