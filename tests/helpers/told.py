"""A memory whose messages say what the tests hand in, curated with a clock of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.jobs import jobs
from nscma_torch.core.records import CuratorDecision, Fact, Message, Scope, Statement
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.store import decisions, facts, namespaces
from nscma_torch.semantic.store.statements import CURATE
from nscma_torch.semantic.timeline.curation import Curator
from tests.helpers.telling import day, say

EVERY = ("active", "archived", "disputed")


@dataclass
class Told:
    """A memory, its curator, and the short ways of the tests to both."""

    memory: Memory
    curator: Curator
    now: int = 1000
    said: int = 0

    def tell(
        self, *said: Statement, at: int = 0, name: str | None = "Ben", role: str = "user", agent: str | None = None
    ) -> str:
        """Add a message of day `at` and curate."""
        episode_id = self.hear(*said, at=at, name=name, role=role, agent=agent)
        self.curate(agent)
        return episode_id

    def hear(
        self, *said: Statement, at: int = 0, name: str | None = "Ben", role: str = "user", agent: str | None = None
    ) -> str:
        """Add a message of day `at`."""
        self.said += 1
        message = Message(role, f"message {self.said} of day {at}", day(at), name)
        added = self.memory.add(message, user_id="ada", agent_id=agent, infer=False, now=day(max(at, 0)))
        say(self.memory, added[0].id, *said)
        return added[0].id

    def curate(self, agent: str | None = None) -> None:
        namespace = namespaces.namespace_id("ada", agent)
        with self.memory.components.database.read(ALL_USERS) as connection:
            batch = jobs.next_batch(connection, {CURATE: 10})
        assert all(job.lane == namespace for job in batch)
        if batch:
            self.curator.run(batch)

    def facts(self, **clauses: Any) -> list[Fact]:
        clauses.setdefault("statuses", EVERY)
        with self.memory.components.database.read(ALL_USERS) as connection:
            return facts.select_facts(connection, Scope("ada"), **clauses)

    def held(self, relation: str | None = None, **clauses: Any) -> list[str]:
        """Objects of the facts that are current."""
        found = self.facts(**{"statuses": ("active", "disputed"), **clauses})
        return [fact.object for fact in found if relation in (None, fact.relation)]

    def log(self, **clauses: Any) -> list[CuratorDecision]:
        """Decisions, oldest first."""
        with self.memory.components.database.read(ALL_USERS) as connection:
            return decisions.select_decisions(connection, Scope("ada"), **clauses)[::-1]

    def undo(self, decision: CuratorDecision) -> CuratorDecision:
        return self.curator.undo("ada", decision.id, at=day(self.now))


@pytest.fixture
def told(open_memory: Callable[..., Memory], light_surprise: Any) -> Told:
    memory = open_memory("curated.db", surprise_model=light_surprise)
    settings = CuratorConfig(initial_strength=180.0)
    return Told(memory, Curator(memory.components.database, load_relations(), settings, clock=lambda: day(1000)))
