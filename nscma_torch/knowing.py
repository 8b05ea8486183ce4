"""What a memory knows beside what was said: facts, their conflicts and decisions. `Memory` inherits it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from nscma_torch.arguments import checked_limit, clock
from nscma_torch.assembly import Parts
from nscma_torch.errors import InvalidInputError
from nscma_torch.records import CuratorDecision, Fact, FactStatus, Scope
from nscma_torch.storage import decisions, facts
from nscma_torch.storage.clock import optional_micros
from nscma_torch.text.names import name_key

_ALL: tuple[FactStatus, ...] = ("active", "archived", "disputed")


class Knowing:
    """The facts of a user, kept true by the curator. What `flush` has not worked off yet is not in them."""

    parts: Parts

    def facts(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        subject: str | None = None,
        relation: str | None = None,
        topic: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        archived: bool = False,
    ) -> list[Fact]:
        """Facts, by subject, relation and the time they began.

        Args:
            subject: whom or what they are about; "user" is who speaks without a name.
            relation: a name of the relation file.
            topic: what of a kind it is about ("colour" of favourite).
            as_of: those that held in the world at this time.
            known_at: as they were believed at this time.
            archived: also those that hold no longer, or lost a conflict.

        Raises:
            InvalidInputError: a relation that the relation file does not have.
        """
        return self._facts(user_id, agent_id, subject, relation, topic, as_of, known_at, _ALL if archived else _ALL[::2])

    def timeline(
        self, subject: str, relation: str, *, user_id: str, agent_id: str | None = None, topic: str | None = None
    ) -> list[Fact]:
        """All that held, or was said to hold, of a subject and relation, oldest first; `reason` says what became of it."""
        found = self._facts(user_id, agent_id, subject, relation, topic, None, None, _ALL)
        return sorted(found, key=lambda fact: (fact.valid_from is not None, fact.valid_from or fact.recorded_at, fact.sequence))

    def conflicts(self, *, user_id: str, agent_id: str | None = None) -> list[tuple[Fact, ...]]:
        """The sides of each contradiction that nothing has settled yet."""
        disputed = self._facts(user_id, agent_id, None, None, None, None, None, ("disputed",))
        grouped = groupby(disputed, key=lambda fact: (fact.scope, fact.subject, fact.relation, fact.topic))
        return [tuple(sides) for _, sides in grouped]

    def _facts(
        self,
        user_id: str,
        agent_id: str | None,
        subject: str | None,
        relation: str | None,
        topic: str | None,
        as_of: datetime | None,
        known_at: datetime | None,
        statuses: Sequence[FactStatus],
    ) -> list[Fact]:
        if relation is not None and relation not in self.parts.relations:
            known = ", ".join(self.parts.relations.relations)
            raise InvalidInputError(f"there is no relation {relation!r}; the relation file has {known}")
        with self.parts.database.read() as connection:
            found = facts.select_facts(
                connection,
                Scope(user_id, agent_id),
                subjects=None if subject is None else [name_key(subject)],
                relations=None if relation is None else [relation],
                as_of=optional_micros(as_of),
                known_at=optional_micros(known_at),
                statuses=statuses,
            )
        return [fact for fact in found if topic is None or fact.topic == topic]

    def decisions(
        self, *, user_id: str, agent_id: str | None = None, limit: int | None = 100
    ) -> list[CuratorDecision]:
        """What the curator decided, newest first."""
        with self.parts.database.read() as connection:
            return decisions.select_decisions(connection, Scope(user_id, agent_id), limit=checked_limit(limit))

    def undo(self, decision_id: str, *, user_id: str, now: datetime | None = None) -> CuratorDecision:
        """Take a decision of the curator back. Undone in reverse order, the memory is what it was before each.

        Raises:
            NotFoundError: the user has no such decision.
            InvalidInputError: it is undone already, or a later one rests on it (which the error names).
        """
        return self.parts.curator.undo(Scope(user_id).user_id, decision_id, at=clock(now))

    def merge(self, proposal_id: str, *, user_id: str, now: datetime | None = None) -> CuratorDecision:
        """Follow a proposal (PROPOSE in `decisions`) that two names mean one entity; `undo` parts them again."""
        return self.parts.curator.merge(Scope(user_id).user_id, proposal_id, at=clock(now))
