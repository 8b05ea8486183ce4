"""The running summary of a conversation, which accompanies its messages when they are read (mem0: a separate module
renews it).

It is renewed after every m messages, from the old summary and these messages but never from the whole history, by the
first background job that needs it. The summary that a message is read with depends only on the preceding messages, no
matter when it is read. Summaries are stored as drafts: they can be recomputed, and hiding or erasing any of the user's
texts deletes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from nscma_torch.core.database import user_versions
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import JobError
from nscma_torch.core.protocols import LanguageTasks
from nscma_torch.core.records import Episode, Unit
from nscma_torch.episodic.index.units import unit_of
from nscma_torch.episodic.log import turns
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.hierarchy.store import hierarchies


@dataclass(frozen=True, slots=True)
class Place:
    """A message's position in its conversation.

    Attributes:
        stream: the conversation.
        keys: keys of the conversation's summaries up to here, oldest first; each identifies the summarized texts.
        blocks: row numbers of the m messages that each of these summaries adds.
        recent: row numbers of the preceding m messages, regardless of what the summary covers.
    """

    stream: str
    keys: tuple[str, ...] = ()
    blocks: tuple[tuple[int, ...], ...] = ()
    recent: tuple[int, ...] = ()


def places(connection: Connection, wanted: Mapping[int, str], size: int) -> dict[int, Place]:
    """Return each message's place, given its stream by row number; `size` is m.

    Messages that are hidden or have an expiration date are not part of a conversation.
    """
    found: dict[int, Place] = {}
    for stream in dict.fromkeys(wanted.values()):
        rows = turns.turns_after(connection, stream, 0, 0)
        seqs = [row.seq for row in rows]
        keys = [derive_id("conversation", stream)]
        blocks: list[tuple[int, ...]] = []
        for start in range(0, len(rows), size):
            for at in range(start, min(start + size, len(rows))):
                if wanted.get(seqs[at]) == stream:
                    recent = tuple(seqs[max(0, at - size) : at])
                    found[seqs[at]] = Place(stream, tuple(keys[1:]), tuple(blocks), recent)
            block = rows[start : start + size]
            blocks.append(tuple(row.seq for row in block))
            keys.append(derive_id(keys[-1], *(part for row in block for part in (row.id, row.text_hash))))
    return {seq: found.get(seq, Place(stream)) for seq, stream in wanted.items()}


class ConversationSummaries:
    """Writes and stores conversation summaries."""

    def __init__(self, database: Database, tasks: LanguageTasks) -> None:
        self._database = database
        self._tasks = tasks

    def before(self, user_id: str, wanted: Mapping[int, Place]) -> dict[int, tuple[Unit, ...]]:
        """Return, for each message, the summary up to it, if any, and the m messages before it, as units.

        Raises errors from the language tasks; the summaries finished by then are stored.
        """
        if not wanted:
            return {}
        known: dict[str, Unit] = {}
        for place in sorted(wanted.values(), key=lambda place: -len(place.keys)):
            if not known.keys() >= set(place.keys):
                known |= self._summaries(user_id, place)
        recent = self._load(user_id, {seq for place in wanted.values() for seq in place.recent})
        return {
            seq: (
                *(known[key] for key in place.keys[-1:] if key in known),
                *(unit_of(recent[one]) for one in place.recent if one in recent),
            )
            for seq, place in wanted.items()
        }

    def _summaries(self, user_id: str, place: Place) -> dict[str, Unit]:
        """Return a conversation's summaries by key; a missing one is made from its predecessor.

        It stops before messages that were hidden meanwhile.
        """
        lane = derive_id("conversation", place.stream)
        with self._database.read(user_id) as connection:
            stored = hierarchies.found_drafts(connection, lane, place.keys)
            epoch = user_versions.version(connection, user_id)[1]
        found: dict[str, Unit] = {}
        for key, block in zip(place.keys, place.blocks, strict=True):
            said = self._load(user_id, set(block))
            if len(said) < len(block):
                break
            units = [*list(found.values())[-1:], *(unit_of(said[seq]) for seq in block)]
            text = stored.get(key) or self._summarized(units)
            found[key] = Unit(key, units[-1].scope, "summary", text, (), units[-1].occurred_at, role="memory")
            if key not in stored:
                with self._database.write(user_id) as connection:
                    if user_versions.version(connection, user_id)[1] == epoch:  # else a text that it quotes may be gone
                        turns.keep_summary(connection, user_id, lane, key, text)
        return found

    def _summarized(self, units: list[Unit]) -> str:
        texts = self._tasks.summarize([units])
        if len(texts) != 1 or not texts[0].strip():
            raise JobError(f"summarize was given one conversation and returned {texts!r}, not one text; correct it")
        return texts[0]

    def _load(self, user_id: str, seqs: set[int]) -> dict[int, Episode]:
        with self._database.read(user_id) as connection:
            return turns.load(connection, user_id, sorted(seqs))
