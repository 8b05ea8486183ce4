"""Recall for user turns: passages by search, facts related to them or to named people; repeatable for stored turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import UpstreamConfig
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Fact, Hit, Scope
from nscma_torch.episodic.log import episodes
from nscma_torch.episodic.log.turns import ECHO
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.semantic.store import facts, facts_told
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.timeline.fact_views import holding
from nscma_torch.server.proxy.block import Block, ShownPassage, fitting
from nscma_torch.server.proxy.chat_request import UserTurn
from nscma_torch.text.names import name_key

RECALLED = "recalled"  # metadata of a user turn: what its block showed
EXCHANGE = "exchange"  # metadata of a reply: the key of its exchange, which is asked for again where a client retries
_LOOKED_AT = 4  # times the passages that are shown: some say nothing new
_NAMED_WORDS = 100  # of a turn, in which names are looked for
_LONGEST_NAME = 3  # words


@dataclass(frozen=True, slots=True)
class BlockContents:
    """Contents of a block by ids: passages as (message, start, end). Stored with the turn."""

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
        """Return the metadata to store; empty for an empty choice."""
        if not (self.passages or self.facts):
            return {}
        return {RECALLED: {"passages": [list(one) for one in self.passages], "facts": list(self.facts)}}


@dataclass(frozen=True, slots=True)
class RecalledBlock:
    """The block of a turn, which is as of `at`; `key` names the exchange, and is the stored turn's idempotency key."""

    key: str
    at: datetime
    block: Block = field(default_factory=Block)


class TurnRecall:
    """Looks up what a turn recalls; its calls block."""

    def __init__(self, memory: Memory, settings: UpstreamConfig) -> None:
        self._memory = memory
        self._settings = settings

    def only(
        self, user_id: str, turn: UserTurn, keys: Sequence[str], at: datetime, shown: Sequence[Block] = ()
    ) -> RecalledBlock:
        """Recall for a turn at this time, without what earlier blocks already show."""
        return RecalledBlock(keys[0], at, self._shown(user_id, self._chosen(user_id, turn, keys[0], at, shown), at))

    def again(
        self, user_id: str, turn: UserTurn, keys: Sequence[str], at: datetime, shown: Sequence[Block] = ()
    ) -> RecalledBlock:
        """Return the block stored with the turn under one of these keys, else recall at this time."""
        return self._stored(user_id, keys) or self.only(user_id, turn, keys, at, shown)

    def standing(
        self, user_id: str, earlier: Mapping[str, RecalledBlock], unknown: Mapping[str, list[str]]
    ) -> dict[str, RecalledBlock]:
        """The blocks that earlier turns got, by digest: `earlier` as they are known, `unknown` by keys of stored turns.

        A block of which a message was deleted since is put together again without it.
        """
        sources = list({source for found in earlier.values() for source in found.block.sources})
        with self._memory.components.database.read(user_id) as connection:
            gone = episodes.deleted_among(connection, user_id, sources)
        standing = dict(earlier)
        for digest, found in earlier.items():
            if gone.intersection(found.block.sources):
                shown = self._shown(user_id, BlockContents.of(found.block), found.at)
                standing[digest] = replace(found, block=shown)
        keys = [key for many in unknown.values() for key in many]
        with self._memory.components.database.read(user_id) as connection:
            stored = episodes.known_keys(connection, user_id, keys)
        for digest, many in unknown.items():
            found_keys = [key for key in many if key in stored]
            restored = self._stored(user_id, found_keys) if found_keys else None
            if restored is not None:
                standing[digest] = restored
        return standing

    def _stored(self, user_id: str, keys: Sequence[str]) -> RecalledBlock | None:
        """Return the block stored with the turn under the first known key."""
        with self._memory.components.database.read(user_id) as connection:
            known = episodes.known_keys(connection, user_id, keys)
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
        parts = self._memory.components
        config, question = parts.config, turn.text[: parts.config.limits.max_question_characters]
        bounds = Bounds(Scope(user_id), at, timedelta(seconds=config.limits.max_clock_skew), ("chunk",))
        found = parts.retriever.retrieve(question, bounds, top_k=_LOOKED_AT * self._settings.passages)
        hits = found.hits if found.bears(config.retrieval.floor) else []
        new: dict[str, Hit] = {}
        for hit in hits:
            text = hit.text.strip()
            about = hit.unit.metadata  # a filter of the search would read that of all messages
            if text in passages_shown:
                continue
            if text not in turn.context and about.get(EXCHANGE) != key and about.get(ECHO) is not True:
                new.setdefault(text, hit)
        kept = list(new.values())[: self._settings.passages]
        parts.recalls.note(user_id, kept, at=at)
        passages = tuple((hit.unit.episode_ids[0], hit.unit.start, hit.unit.end) for hit in kept)
        with parts.database.read(user_id) as connection:
            of_facts = self._facts(
                connection,
                user_id,
                question,
                [hit.unit.episode_ids[0] for hit in hits[: 2 * self._settings.passages]],
                at,
            )
        return BlockContents(passages, tuple(fact.id for fact in of_facts if fact.id not in facts_shown))

    def _facts(
        self, connection: Connection, user_id: str, question: str, messages: Sequence[str], at: datetime
    ) -> list[Fact]:
        """Facts of whom or what the turn names, and those that stand now where the messages say something."""
        told = facts_told.groups_told(connection, user_id, messages)
        named = _names(question)
        wanted = {key.subject for key in told} | named
        if not wanted:
            return []
        known = facts.select_facts(connection, Scope(user_id), subjects=wanted, known_at=to_micros(at))
        ranked = []
        for fact in holding(known, at):
            subject = name_key(fact.subject)
            place = told.get(Key(subject, fact.relation, fact.topic))
            if place is not None or subject in named:
                ranked.append((len(messages) if place is None else place, -fact.confidence, fact.id, fact))
        return [fact for *_, fact in sorted(ranked)[: self._settings.facts]]

    def _shown(self, user_id: str, choice: BlockContents, at: datetime) -> Block:
        """The block of a choice; what was deleted since is left out."""
        with self._memory.components.database.read(user_id) as connection:
            passages = []
            for episode_id, start, end in choice.passages:
                episode = episodes.find(connection, user_id, episode_id)
                if episode is not None and episode.status != "deleted":
                    passages.append(ShownPassage(episode, start, end))
            known = facts.select_facts(connection, Scope(user_id), ids=choice.facts, known_at=to_micros(at))
            by_id = {fact.id: fact for fact in known if _stands(connection, user_id, fact)}
        chosen = [by_id[one] for one in choice.facts if one in by_id]
        embedder = self._memory.components.new_embedder
        return fitting(chosen, passages, self._settings.tokens, embedder.count_tokens)


def _stands(connection: Connection, user_id: str, fact: Fact) -> bool:
    """Return whether a message that states the fact still exists."""
    sources = (episodes.find(connection, user_id, one) for one in fact.episode_ids)
    return any(episode is not None and episode.status != "deleted" for episode in sources)


def _names(text: str) -> set[str]:
    """Keys of all runs of a few words: what may be a name."""
    words = text.split()[:_NAMED_WORDS]
    runs = (words[i : i + n] for n in range(1, _LONGEST_NAME + 1) for i in range(len(words) - n + 1))
    keys = {name_key(" ".join(run)) for run in runs}
    return {key.removesuffix("'s") for key in keys} | keys - {""}
