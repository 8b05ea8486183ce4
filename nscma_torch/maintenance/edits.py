"""Edit stored messages: update, delete and restore, each with an entry in the history."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from nscma_torch.core import capabilities
from nscma_torch.core.database.clock import optional_micros, to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.jobs import jobs
from nscma_torch.core.records import KEEP, Episode, Keep
from nscma_torch.curator.store import derived_texts
from nscma_torch.episodic.index import fingerprint, units
from nscma_torch.episodic.log import episodes, history, streams, turns
from nscma_torch.episodic.log.backlog import EXTRACT, RESTATE
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.ingest.indexer import IndexedChunk, Indexer, chunk_units
from nscma_torch.maintenance.rereading import read_again_after
from nscma_torch.reading.turns_before import TURNS_BEFORE
from nscma_torch.semantic.store import fact_units, statements
from nscma_torch.semantic.timeline.forgotten import archive_message
from nscma_torch.text.files.json_messages import metadata_json


class Editor:
    """Edits one user's episodes; an unknown id raises `NotFoundError`.

    Args:
        integrate: if True, return restored messages to their hierarchy.
        reach: the configured number of earlier messages that each message is read with; the store may have used more.
    """

    def __init__(self, database: Database, indexer: Indexer, *, integrate: bool, reach: int = TURNS_BEFORE) -> None:
        self._database = database
        self._indexer = indexer
        self._integrate = integrate
        self._reach = reach

    def update(
        self,
        user_id: str,
        episode_id: str,
        text: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | Keep | None = KEEP,
        at: datetime,
    ) -> Episode:
        """Change an episode's text, metadata or expiration date; arguments that are not given leave these unchanged.

        The old values stay in the history. If the text or expiration date changes, the episode's units and statements
        are recomputed; an expiring message gets no facts. The gate's decision stays, because it reflects what was known
        when the message arrived.
        """
        anew = text is not None or expires_at is not KEEP
        with self._database.read(user_id) as connection:
            known = episodes.require(connection, user_id, episode_id)[1].text if text is None else text
        indexed = self._indexer.index([known], [True])[0] if anew else []
        with self._database.write(user_id) as connection:
            seq, old = episodes.require(connection, user_id, episode_id)
            new_text = old.text if text is None else text
            changed: dict[str, Any] = {}
            if metadata is not None:
                changed["metadata"] = metadata_json({**old.metadata, **metadata})
            if expires_at is not KEEP:
                changed["expires_at"] = optional_micros(expires_at)
            if changed:
                episodes.set_columns(connection, seq, **changed)
            if anew:
                if new_text != known:  # somebody else changed it meanwhile
                    indexed = self._indexer.index([new_text], [True])[0]
                self._make_anew(connection, user_id, seq, old, new_text, indexed)
            streams.touch_user(connection, user_id, changed=True)
            history.note(
                connection,
                user_id=user_id,
                episode_seq=seq,
                event="UPDATE",
                at=to_micros(at),
                old_text=old.text,
                new_text=new_text,
                reason=_before(old, changed),
            )
            return episodes.require(connection, user_id, episode_id)[1]

    def _make_anew(
        self,
        connection: Connection,
        user_id: str,
        seq: int,
        old: Episode,
        text: str,
        indexed: Sequence[IndexedChunk],
    ) -> None:
        """Replace an episode's units and statements by those for its new text."""
        fingerprint.bind(connection, self._indexer.fingerprint)
        earlier = units.seqs_of_episode(connection, seq)
        hierarchies.retire(connection, earlier)
        derived_texts.retire(connection, [seq])
        capabilities.retire(connection, [seq])
        units.remove(connection, earlier)
        episodes.set_columns(connection, seq, text=text, text_hash=episodes.text_hash(text), encoded=False)
        row = episodes.row_of(connection, seq)
        units.insert(connection, chunk_units(row, indexed))
        statements.replace(connection, row, [])
        if old.encoded:
            jobs.enqueue(connection, user_id, EXTRACT, [(row["stream_id"], seq)])
        read_again_after(connection, user_id, [seq], self._reach)

    def delete(self, user_id: str, episode_ids: list[str], *, at: datetime, reason: str | None = None) -> int:
        """Hide episodes from every read except the history; `restore` undoes this. Returns how many of these changed.

        Replies that may repeat them are hidden too. If any id is unknown, nothing changes.
        """
        return self._set_status(user_id, episode_ids, "deleted", "DELETE", at, reason)

    def restore(self, user_id: str, episode_ids: list[str], *, at: datetime) -> int:
        """Restore deleted episodes, and the replies that are based on no hidden message. Returns how many of the
        given episodes changed.
        """
        return self._set_status(user_id, episode_ids, "active", "RESTORE", at)

    def set_aside(self, user_id: str, episode_id: str, *, at: datetime, reason: str) -> None:
        """Remove a message from search, and keep it as if it was stored without inference: it gets no facts.

        `undo` of the decision returns it to search.
        """
        with self._database.write(user_id) as connection:
            seq, episode = episodes.require(connection, user_id, episode_id)
            for kind in (EXTRACT, RESTATE):
                jobs.withdraw(connection, kind, seq)
            episodes.set_columns(connection, seq, write=None)
            archive_message(connection, seq, episode, reason, to_micros(at))
            streams.touch_user(connection, user_id, changed=True)

    def _set_status(
        self, user_id: str, episode_ids: list[str], status: str, event: str, at: datetime, reason: str | None = None
    ) -> int:
        with self._database.write(user_id) as connection:
            asked = [episodes.require(connection, user_id, episode_id) for episode_id in episode_ids]
            replies = turns.quoting(connection, user_id, episode_ids)
            if status == "active":
                replies = turns.quoting_none_hidden(connection, user_id, replies, besides=episode_ids)
            found = asked + [episodes.require(connection, user_id, reply) for reply in replies]
            changing = {seq: episode for seq, episode in found if episode.status != status}
            own = [unit for seq in changing for unit in units.seqs_of_episode(connection, seq)]
            if status != "active":
                hierarchies.retire(connection, own)
            elif self._integrate:
                back = [seq for seq, episode in changing.items() if episode.encoded]
                hierarchies.enqueue(connection, [episodes.row_of(connection, seq) for seq in back])
            derived_texts.retire(connection, changing.keys())
            units.set_status(connection, own, status)
            read_again_after(connection, user_id, changing.keys(), self._reach)
            for seq in changing:
                episodes.set_columns(connection, seq, status=status)
                history.note(connection, user_id=user_id, episode_seq=seq, event=event, at=to_micros(at), reason=reason)
            statements.mark(connection, changing)
            said = statements.of_episodes(connection, changing)
            fact_units.follow(connection, [one for own in said.values() for one in own])
            if changing:
                streams.touch_user(connection, user_id, changed=True)
        return len({seq for seq, _ in asked} & changing.keys())


def _before(old: Episode, changed: Mapping[str, Any]) -> str | None:
    """Return, as JSON, the metadata and expiration date from before a change; None if neither changed."""
    if not changed:
        return None
    was = {"metadata": dict(old.metadata), "expires_at": None if old.expires_at is None else old.expires_at.isoformat()}
    return json.dumps({key: was[key] for key in changed}, sort_keys=True, ensure_ascii=False)
