"""Recall passages for user turns by search, and facts related to them or to named people.

The recall for a stored turn can be repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import UpstreamConfig
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Episode, Hit
from nscma_torch.episodic.log import episodes
from nscma_torch.episodic.log.turns import ECHO
from nscma_torch.server.proxy.block_text import Block, ShownPassage, fitting
from nscma_torch.server.proxy.chat_request import UserTurn
from nscma_torch.standing import effects
from nscma_torch.text.calendar.timestamps import format_day

RECALLED = "recalled"  # metadata of a user turn: what its block showed
EXCHANGE = "exchange"  # metadata of a reply: the key of its exchange, which is asked for again where a client retries
_LOOKED_AT = 4  # times the passages that are shown: some say nothing new
_NAMED_WORDS = 100  # of a turn, in which names are looked for
_LONGEST_NAME = 3  # words


@dataclass(frozen=True, slots=True)
class BlockContents:
    """The contents of a block as ids, with passages as (message, start, end). Stored with the turn."""

    passages: tuple[tuple[str, int, int], ...] = ()
    facts: tuple[str, ...] = ()

    @classmethod
    def of(cls, block: Block) -> BlockContents:
        """Build from a block."""
        passages = tuple((one.episode.id, one.start, one.end) for one in block.passages)
        return cls(passages, tuple(fact.id for fact in block.facts))

    @classmethod
    def read(cls, metadata: Mapping[str, Any]) -> BlockContents:
        """Read from a stored turn's metadata."""
        kept = metadata.get(RECALLED, {})
        passages = tuple((id, start, end) for id, start, end in kept.get("passages", ()))
        return cls(passages, tuple(kept.get("facts", ())))

    def metadata(self) -> dict[str, Any]:
        """Return the metadata to store; empty if the contents are empty."""
        if not (self.passages or self.facts):
            return {}
        return {RECALLED: {"passages": [list(one) for one in self.passages], "facts": list(self.facts)}}


@dataclass(frozen=True, slots=True)
class RecalledBlock:
    """The block for a turn as of `at`. `key` identifies the exchange and is the stored turn's idempotency key."""

    key: str
    at: datetime
    block: Block = field(default_factory=Block)


class TurnRecall:
    """Recalls memories for a turn. Its methods block."""

    def __init__(self, memory: Memory, settings: UpstreamConfig) -> None:
        self._memory = memory
        self._settings = settings

    def only(
        self, user_id: str, turn: UserTurn, keys: Sequence[str], at: datetime, shown: Sequence[Block] = ()
    ) -> RecalledBlock:
        """Recall memories for a turn at this time, omitting memories that earlier blocks already show."""
        return RecalledBlock(keys[0], at, self._shown(user_id, self._chosen(user_id, turn, keys[0], at, shown), at))

    def again(
        self, user_id: str, turn: UserTurn, keys: Sequence[str], at: datetime, shown: Sequence[Block] = ()
    ) -> RecalledBlock:
        """Return the block stored with the turn under one of these keys. If there is none, recall memories at this
        time.
        """
        return self._stored(user_id, keys) or self.only(user_id, turn, keys, at, shown)

    def standing(
        self, user_id: str, earlier: Mapping[str, RecalledBlock], unknown: Mapping[str, list[str]]
    ) -> dict[str, RecalledBlock]:
        """Return the blocks for earlier turns, by turn digest.

        `earlier` contains the known blocks. `unknown` contains the possible keys of stored turns, to look up the
        others.

        A block with a deleted message is rebuilt without it.
        """
        sources = {source for found in earlier.values() for source in found.block.sources}
        gone = sources - self._there(user_id, sources).keys()
        standing = dict(earlier)
        for digest, found in earlier.items():
            if gone.intersection(found.block.sources):
                shown = self._shown(user_id, BlockContents.of(found.block), found.at)
                standing[digest] = replace(found, block=shown)
        stored = self._by_keys(user_id, [key for many in unknown.values() for key in many])
        for digest, many in unknown.items():
            found_keys = [key for key in many if key in stored]
            restored = self._stored(user_id, found_keys) if found_keys else None
            if restored is not None:
                standing[digest] = restored
        return standing

    def _stored(self, user_id: str, keys: Sequence[str]) -> RecalledBlock | None:
        """Return the block stored with the turn under the first of these keys that exists."""
        known = self._by_keys(user_id, keys)
        for key in keys:
            if key in known:
                stored = known[key]
                shown = self._shown(user_id, BlockContents.read(stored.metadata), stored.occurred_at)
                return RecalledBlock(key, stored.occurred_at, shown)
        return None

    def _chosen(self, user_id: str, turn: UserTurn, key: str, at: datetime, shown: Sequence[Block]) -> BlockContents:
        """Choose the best matches that are not already in the conversation or in its blocks."""
        passages_shown = {one.text.strip() for block in shown for one in block.passages}
        facts_shown = {fact.id for block in shown for fact in block.facts}
        memory, settings = self._memory, self._settings
        question = turn.text.strip()[: memory.config.limits.max_question_characters]
        seen: list[str] = []
        new: set[str] = set()

        def is_new(hit: Hit) -> bool:
            seen.append(hit.id)
            text, about = hit.text.strip(), hit.unit.metadata  # a filter of the search would read that of all messages
            if len(new) == settings.passages or text in new or text in passages_shown or text in turn.context:
                return False
            if about.get(EXCHANGE) == key or about.get(ECHO) is True:
                return False
            new.add(text)
            return True

        kept = memory.search(
            question, user_id=user_id, kinds=("chunk",), top_k=_LOOKED_AT * settings.passages, now=at, relevant=True,
            keep=is_new,
        )  # fmt: skip
        passages = tuple((hit.unit.episode_ids[0], hit.unit.start, hit.unit.end) for hit in kept)
        found = memory.related_facts(question, seen[: 2 * settings.passages], user_id=user_id, known_at=at, now=at)
        chosen = [fact.id for fact in found[: settings.facts] if fact.id not in facts_shown]
        return BlockContents(passages, tuple(chosen))

    def _shown(self, user_id: str, choice: BlockContents, at: datetime) -> Block:
        """Return the block for these contents, without deleted messages."""
        known = {fact.id: fact for fact in self._memory.facts(user_id=user_id, ids=choice.facts, known_at=at)}
        facts = [known[one] for one in choice.facts if one in known]
        quoted = [id for id, _, _ in choice.passages]
        there = self._there(user_id, [*quoted, *(source for fact in facts for source in fact.episode_ids)])
        with self._memory.components.database.read(user_id) as connection:
            doubts = effects.of_episodes(connection, user_id, [id for id in quoted if id in there], to_micros(at))
        passages = [
            ShownPassage(there[id], start, end, format_day(doubts[id].at.date()) if id in doubts else "")
            for id, start, end in choice.passages
            if id in there
        ]
        stated = [fact for fact in facts if not there.keys().isdisjoint(fact.episode_ids)]
        embedder = self._memory.components.new_embedder
        return fitting(stated, passages, self._settings.tokens, embedder.count_tokens)

    def _there(self, user_id: str, ids: Collection[str]) -> dict[str, Episode]:
        """Return the messages with these ids that are not deleted, by id."""
        found = self._memory.log(user_id=user_id, ids=sorted(set(ids)))
        return {episode.id: episode for episode in found if episode.status != "deleted"}

    def _by_keys(self, user_id: str, keys: Sequence[str]) -> dict[str, Episode]:
        """Return the messages with these idempotency keys, including deleted ones, by key."""
        with self._memory.components.database.read(user_id) as connection:
            return episodes.known_keys(connection, user_id, keys)
