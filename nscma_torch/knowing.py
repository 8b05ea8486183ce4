"""What a memory makes of what was said: facts, conflicts and decisions, the hierarchy. `Memory` inherits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from nscma_torch.components import Components
from nscma_torch.config import override
from nscma_torch.errors import InvalidInputError, StoreClosedError
from nscma_torch.recalls import Recalls
from nscma_torch.records import CuratorDecision, Fact, FactStatus, Node, Scope, SleepReport
from nscma_torch.storage import backlog, decisions, facts, hierarchies, profiles, tree
from nscma_torch.storage.backlog import EXTRACT
from nscma_torch.storage.clock import to_micros
from nscma_torch.storage.profiles import ProfileLine
from nscma_torch.storage.skills import Skill
from nscma_torch.text.names import name_key
from nscma_torch.text.spelling_variants import american
from nscma_torch.validation import (
    checked_count,
    checked_flag,
    checked_limit,
    checked_question,
    checked_text,
    checked_user,
    clock,
)

if TYPE_CHECKING:
    from nscma_torch.curator.skills import FoundSkill
    from nscma_torch.encode.replay import Redecision

_ALL: tuple[FactStatus, ...] = ("active", "archived", "disputed")


class Knowing:
    """The facts of a user, kept true by the curator. What `flush` has not worked off yet is not in them."""

    _components: Components
    _recalls: Recalls
    _closed = False

    @property
    def components(self) -> Components:
        """What the memory is made of. Raises StoreClosedError once it is closed."""
        if self._closed:
            raise StoreClosedError(f"the memory in {self._components.database.path} is closed; open it again")
        return self._components

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
        now: datetime | None = None,
    ) -> list[Fact]:
        """Facts, by subject, relation and the time they began.

        Args:
            subject: whom or what they are about; "user" is who speaks without a name.
            relation: a name of the relation file.
            topic: what of a kind it is about ("colour" of favourite).
            as_of: those that held in the world at this time.
            known_at: as they were believed at this time.
            archived: also those that hold no longer, lost a conflict, or are announced for later than `now`.

        Raises:
            InvalidInputError: an empty subject, a relation that the relation file does not have, or no time.
        """
        statuses = _ALL if archived else _ALL[::2]
        found = self._facts(user_id, agent_id, subject, relation, topic, as_of, known_at, statuses)
        if archived or as_of is not None or known_at is not None:
            return found
        at = clock(now)
        return [
            fact
            for fact in found
            if (fact.valid_from is None or fact.valid_from <= at) and (fact.valid_to is None or at < fact.valid_to)
        ]

    def timeline(
        self, subject: str, relation: str, *, user_id: str, agent_id: str | None = None, topic: str | None = None
    ) -> list[Fact]:
        """All that held or was said to hold of a subject and relation, oldest first, with the reason of each status."""
        checked_text(subject, "the subject")
        checked_text(relation, "the relation")
        found = self._facts(user_id, agent_id, subject, relation, topic, None, None, _ALL)
        return sorted(
            found, key=lambda fact: (fact.valid_from is not None, fact.valid_from or fact.recorded_at, fact.sequence)
        )

    def conflicts(self, *, user_id: str, agent_id: str | None = None) -> list[tuple[Fact, ...]]:
        """The sides of each contradiction that nothing has settled yet."""
        disputed = self._facts(user_id, agent_id, None, None, None, None, None, ("disputed",))
        sides: dict[tuple[object, ...], list[Fact]] = {}
        for fact in disputed:
            relation = self.components.relations[fact.relation]
            of_object = name_key(fact.object) if relation.cardinality == "many" else ""
            either = min(relation.name, relation.opposite or relation.name)
            sides.setdefault((fact.scope, fact.subject, either, fact.topic, of_object), []).append(fact)
        return [tuple(facts) for facts in sides.values()]

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
        if relation is not None and relation not in self.components.relations:
            known = ", ".join(self.components.relations.relations)
            raise InvalidInputError(f"there is no relation {relation!r}; the relation file has {known}")
        if subject is not None and not (isinstance(subject, str) and name_key(subject)):
            raise InvalidInputError(f"a subject is a name, got {subject!r}; leave it out for facts about all")
        at, believed_at = (None if when is None else to_micros(clock(when)) for when in (as_of, known_at))
        with self.components.database.read() as connection:
            found = facts.select_facts(
                connection,
                Scope(user_id, agent_id),
                subjects=None if subject is None else [name_key(subject)],
                relations=None if relation is None else [relation],
                as_of=at,
                known_at=believed_at,
                statuses=statuses,
            )
        return [fact for fact in found if topic is None or american(fact.topic) == american(topic)]

    def decisions(self, *, user_id: str, agent_id: str | None = None, limit: int | None = 100) -> list[CuratorDecision]:
        """What the curator decided, newest first."""
        with self.components.database.read() as connection:
            return decisions.select_decisions(connection, Scope(user_id, agent_id), limit=checked_limit(limit))

    def undo(self, decision_id: str, *, user_id: str, now: datetime | None = None) -> CuratorDecision:
        """Take a decision of the curator back. Undone in reverse order, the memory is what it was before each.

        Raises:
            NotFoundError: the user has no such decision.
            InvalidInputError: it is undone already, or a later one rests on it (which the error names).
        """
        return self.components.curator.undo(Scope(user_id).user_id, decision_id, at=clock(now))

    def merge(self, proposal_id: str, *, user_id: str, now: datetime | None = None) -> CuratorDecision:
        """Follow a proposal (PROPOSE in `decisions`) that two names mean one entity; `undo` parts them again."""
        return self.components.curator.merge(Scope(user_id).user_id, proposal_id, at=clock(now))

    def sleep(self, *, user_id: str | None = None, now: datetime | None = None, dry_run: bool = False) -> SleepReport:
        """Catch up on what was deferred, settle disputes, forget, promote, renew summaries and the profile.

        For one user or all. Sleeping twice is sleeping once; with `dry_run` nothing changes, and the report says what
        would. Where language work fails nothing further is done, and the report and `stats` say so.
        """
        user_id = checked_user(user_id)
        if dry_run:
            return self.components.sleeper.sleep(user_id, now=clock(now), dry_run=True, recalls=self._recalls.waiting())
        self._recalls.queue()
        return self.components.sleeper.sleep(user_id, now=clock(now))

    def feedback(self, memory_id: str, *, user_id: str, helpful: bool, now: datetime | None = None) -> None:
        """Say whether a message that was found helped: it fades later and ranks higher, or the other way round."""
        from nscma_torch.curator.feedback import take_feedback

        with self.components.database.write() as connection:
            useful = checked_flag(helpful, "helpful")
            take_feedback(connection, Scope(user_id).user_id, memory_id, helpful=useful, at=clock(now))

    def profile(self, *, user_id: str, agent_id: str | None = None) -> list[ProfileLine]:
        """What sleep has written down of the user: a few dated lines, each with the ids of its facts."""
        with self.components.database.read() as connection:
            return profiles.of_scope(connection, Scope(user_id, agent_id))

    def add_skill(
        self,
        name: str,
        *,
        trigger: str,
        steps: Sequence[str],
        user_id: str,
        agent_id: str | None = None,
        now: datetime | None = None,
    ) -> Skill:
        """Store how something is done: `trigger` says when it helps. A skill of the same name is replaced."""
        return self.components.skills.add(Scope(user_id, agent_id), name, trigger, steps, at=clock(now))

    def find_skills(
        self, situation: str, *, user_id: str, agent_id: str | None = None, top_k: int = 5
    ) -> list[FoundSkill]:
        """The skills whose trigger is most like the situation, best first."""
        text = checked_question(situation, "the situation", self.components.config.limits)
        return self.components.skills.find(Scope(user_id, agent_id), text, top_k=checked_count(top_k))

    def skill_outcome(self, skill_id: str, *, user_id: str, success: bool, now: datetime | None = None) -> Skill:
        """Count how a use of a skill went: of skills that fit equally the more successful comes first."""
        worked = checked_flag(success, "success")
        return self.components.skills.outcome(Scope(user_id).user_id, skill_id, success=worked, at=clock(now))

    def tree(self, *, user_id: str, agent_id: str | None = None) -> list[Node]:
        """What a user said to one agent, or to none, as a hierarchy: chunks, then the clusters of each level (CAM).

        What `flush` has not integrated yet is not in it, nor what was added with an expiration date.
        """
        scope = Scope(user_id, agent_id)
        with self.components.database.read() as connection:
            return tree.tree(connection, scope.user_id, scope.agent_id)

    def replay(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        gate: Mapping[str, Any] | None = None,
        dry_run: bool = True,
        now: datetime | None = None,
    ) -> tuple[int, list[Redecision]]:
        """Decide the log again under other gate settings (`gate` overrides keys of the [gate] section).

        Returns how many messages were decided, and those on which the decision changes. Nothing is stored unless
        `dry_run=False`.
        """
        from nscma_torch.encode.replay import replay
        from nscma_torch.models import message_gate

        other = message_gate(override(self.components.config.gate, {} if gate is None else gate))
        scope = Scope(user_id, agent_id, run_id)
        return replay(self.components.database, other, scope, at=clock(now), dry_run=dry_run)

    def reextract(self, *, user_id: str, agent_id: str | None = None) -> int:
        """Queue what was read for facts to be read again by the next `flush`; returns the number of messages.

        After a change of facts.relations, facts.units or the language model: old messages then say what they would if
        they were added now. Decisions of yours (`undo`, `merge`, `feedback`) stay.
        """
        scope = Scope(user_id, agent_id)
        with self.components.database.write() as connection:
            return backlog.queue_encoded(connection, scope.user_id, scope.agent_id, EXTRACT)

    def rebuild(self, *, user_id: str, agent_id: str | None = None) -> int:
        """Forget a hierarchy and queue its messages for a new one, built by the next `flush`; returns their number."""
        scope = Scope(user_id, agent_id)
        with self.components.database.write() as connection:
            return hierarchies.rebuild(connection, scope.user_id, scope.agent_id)
