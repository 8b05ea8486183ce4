"""The two retrieval tools of long-term memory: messages and facts.

Both only read. The one exception, as in `ask`, is that the user's latest messages are processed before the facts are
queried.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from nscma_torch.answering.from_facts import from_facts
from nscma_torch.answering.from_messages import retrieved
from nscma_torch.api.memory import Memory
from nscma_torch.controller.policy import Finding
from nscma_torch.core.records import Fact, FactQuery, Hit, Scope
from nscma_torch.episodic.index.units import unit_of
from nscma_torch.episodic.log import speakers
from nscma_torch.episodic.log.turns import ECHO
from nscma_torch.llm.prompts.acting import RetrieveEpisodic, RetrieveSemantic
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.text.names import name_key
from nscma_torch.text.pronouns import FIRST_PERSON

_SELF = FIRST_PERSON | {"user", "the user", "my", "我自己", "用户"}


class MemoryTools:
    """Retrieval for one user and agent, over all their runs.

    Turns that only ask, and replies that only report findings, are excluded, because they would outrank the messages
    that answer the question.
    """

    def __init__(self, memory: Memory, scope: Scope, *, top_k: int) -> None:
        self._memory = memory
        self._scope = Scope(scope.user_id, scope.agent_id)
        self._top_k = top_k

    def episodic(self, tool: RetrieveEpisodic, now: datetime) -> Finding:
        """Search the messages."""
        parts = self._memory.components
        config = parts.config
        skew = timedelta(seconds=config.limits.max_clock_skew)
        bounds = Bounds(self._scope, now, skew, config.retrieval.kinds, without={ECHO: True})
        found = retrieved(parts, tool.query, bounds, self._top_k)
        parts.recalls.note(self._scope.user_id, found.hits, at=now)
        return Finding(tool, tuple(found.hits), answerability=found.answerability())

    def semantic(self, tool: RetrieveSemantic, now: datetime, follows: FactQuery | None) -> Finding:
        """Return the answer that `Memory.ask` gives from facts, and the facts about the named entities."""
        parts = self._memory.components
        notes = parts.settling.settle(self._scope.user_id).notes()
        told = from_facts(parts, tool.entity, self._scope, now=now, follows=follows)
        facts = told.facts if told is not None else tuple(self._about(tool.entity, now))
        hits = tuple(item.hit for item in told.evidence) if told is not None else self._sources(facts, now)
        parts.recalls.note(self._scope.user_id, hits, at=now)
        return Finding(tool, hits, facts, told, 0.0 if told is None else 2.0 * told.confidence, notes)

    def _about(self, entity: str, now: datetime) -> list[Fact]:
        """Return the newest facts that have this name as their subject or object."""
        parts = self._memory.components
        with parts.database.read(self._scope.user_id) as connection:
            asker = speakers.asker_of(connection, self._scope.user_id)
            graph = parts.fact_graphs.of(connection, self._scope).at(now, asker=asker)
        meant = {name_key(name) for name in (asker.name, asker.named, asker.by_id) if name}
        wanted = {name_key(entity)}
        if wanted & _SELF:
            wanted |= {"user", name_key(asker.name)}
        if wanted & (_SELF | meant):
            wanted |= {one.key for name in [*wanted] for one in graph.resolve(name)}
        user, agent = self._scope.user_id, self._scope.agent_id
        facts = self._memory.facts(user_id=user, agent_id=agent, now=now)
        named = [fact for fact in facts if {name_key(fact.subject), name_key(fact.object)} & wanted]
        return sorted(named, key=lambda fact: fact.recorded_at, reverse=True)[: 2 * self._top_k]

    def _sources(self, facts: tuple[Fact, ...], now: datetime) -> tuple[Hit, ...]:
        """Return the newest message behind each fact."""
        hits: dict[str, Hit] = {}
        for fact in facts:
            for source in fact.episode_ids[-1:]:
                episode = self._memory.get(source, user_id=self._scope.user_id, now=now)
                if episode is not None:
                    hits.setdefault(source, Hit(unit_of(episode), fact.confidence))
        return tuple(hits.values())[: self._top_k]
