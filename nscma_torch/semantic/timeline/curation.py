"""The curate job: derive the facts for a user and agent from their statements, log decisions, and undo them.

Facts are a function of statements, so undoing a decision withdraws its statement. A decision can be undone if no later
decision depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import ConfigError, InvalidInputError, NotFoundError
from nscma_torch.core.jobs import jobs
from nscma_torch.core.jobs.jobs import Job
from nscma_torch.core.records import CuratorDecision
from nscma_torch.episodic.index import fingerprint
from nscma_torch.episodic.log import episodes, streams
from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.store import decisions, entities, fact_units, namespaces, statement_groups, statements
from nscma_torch.semantic.store.decisions import OPERATION, REFUSED, DecisionRow, NewDecision
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.store.statements import CURATE
from nscma_torch.semantic.timeline.claims import Rules
from nscma_torch.semantic.timeline.derive_facts import Resolved, resolve_groups
from nscma_torch.semantic.timeline.dispute_verdicts import Dispute, undecided, verdict
from nscma_torch.semantic.timeline.forgotten import FORGOTTEN, bring_back
from nscma_torch.semantic.timeline.grouping import NAMED
from nscma_torch.semantic.timeline.name_merging import MERGED, merged, unmerge
from nscma_torch.semantic.timeline.stated_names import follow_names

if TYPE_CHECKING:
    from nscma_torch.hierarchy.summaries import UnitMaker
    from nscma_torch.semantic.timeline.adviser import Adviser
    from nscma_torch.semantic.timeline.operations import Chosen


class Curator:
    """Derives facts from statements.

    Args:
        clock: returns the system time at which facts are retired.
        adviser: asks a model about each new statement, if `curator.rule` or `curator.opposites` is "model".
        units: builds the units for texts that a model merged.
    """

    def __init__(
        self,
        database: Database,
        schema: Schema,
        settings: CuratorConfig,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        adviser: Adviser | None = None,
        units: Callable[[], UnitMaker] | None = None,
    ) -> None:
        self._database = database
        self._schema = schema
        self._rules = Rules.of(settings)
        self._clock = clock
        self._adviser = adviser
        self._units = units
        if self._rules.asks_model and adviser is None:
            raise ConfigError('curator.rule and curator.opposites = "model" need language tasks; give an adviser')

    def run(self, batch: Sequence[Job]) -> None:
        """Resolve the waiting groups in the jobs' namespace, in one transaction.

        If a model decides, it is first asked about each statement in reading order, outside transactions: each
        statement is compared with the facts that result from the earlier ones.
        """
        user_id, namespace = batch[0].user_id, batch[0].lane
        while self._adviser is not None and self._advise(self._adviser, user_id, namespace):
            continue
        with self._database.write(user_id) as connection:
            self.settle(connection, namespace, to_micros(self._clock()))
            jobs.finish(connection, batch)
            if left := statements.unresolved(connection, namespace):  # said while the last one was asked about
                statement_groups.mark(connection, namespace, left)
        if self._rules.by_model and self._units is not None:
            self._index_merges(self._units(), user_id, namespace)

    def _index_merges(self, maker: UnitMaker, user_id: str, namespace: str) -> None:
        """Build the missing units for merged texts; texts that change meanwhile wait for the next job."""
        with self._database.read(user_id) as connection:
            merges = fact_units.unspoken_merges(connection, namespace)
            origins = [episodes.row_of(connection, one.row.episode_seq) for one in merges]
        if not merges:
            return
        made = maker.units("atomic_fact", [one.text for one in merges], origins)
        with self._database.write(user_id) as connection:
            fingerprint.bind(connection, maker.fingerprint)
            still = fact_units.unspoken_merges(connection, namespace)
            new = [(one, own) for one, own in zip(merges, made, strict=True) if one in still]
            fact_units.add_merged(connection, user_id, new)
            streams.touch_user(connection, user_id)

    def _advise(self, adviser: Adviser, user_id: str, namespace: str) -> bool:
        """Ask about the next statement, and commit the result; return False if no statement waits."""
        with self._database.read(user_id) as connection:
            question = adviser.next_question(connection, namespace)
        if question is None:
            return False
        chosen = adviser.ask(question)
        with self._database.write(user_id) as connection:
            if adviser.next_question(connection, namespace) == question:
                self.settle(connection, namespace, to_micros(self._clock()), chosen={question.row.seq: chosen})
        return True

    def settle(
        self,
        connection: Connection,
        namespace: str,
        now: int,
        *,
        recalled: Collection[str] = (),
        chosen: Mapping[int, Chosen] | None = None,
    ) -> list[Resolved]:
        """Resolve the marked groups in a namespace and merge stated names, inside the caller's transaction.

        Groups stay marked if a model still has to be asked about any of their statements.

        Args:
            recalled: ids of forgotten facts that become active again.
            chosen: operations that a model has just chosen, by statement row number.
        """
        done: list[Resolved] = []
        waiting: set[Key] = set()
        while keys := set(statements.unresolved(connection, namespace)) - waiting:
            user_id = namespaces.owner(connection, namespace).user_id
            resolved = resolve_groups(
                connection, namespace, keys, self._schema, self._rules, now=now, recalled=recalled, chosen=chosen or {}
            )
            chosen = {}
            waiting |= resolved.waiting
            statement_groups.mark(connection, namespace, resolved.waiting)
            statements.clear(connection, namespace, keys - waiting)
            decisions.insert(connection, namespace, user_id, resolved.decisions, now)
            fact_units.follow(connection, resolved.said)
            if any(key.relation == NAMED for key in keys):
                follow_names(connection, namespace, self._schema, self._rules, now)
            done.append(resolved)
        if done:
            if not waiting:
                jobs.clear(connection, CURATE, namespace)
            streams.touch_user(connection, namespaces.owner(connection, namespace).user_id)
        return done

    def rule(self, connection: Connection, dispute: Dispute, right: int | None, judge: str, now: int) -> None:
        """Decide a dispute in favour of side `right`, inside the caller's transaction; None leaves it open, which is
        also logged.

        The decision against each other side can be undone.
        """
        made = [undecided(dispute, judge)] if right is None else verdict(dispute, right, judge)
        decisions.insert(
            connection, dispute.namespace, namespaces.owner(connection, dispute.namespace).user_id, made, now
        )
        if right is None:
            return
        statement_groups.mark(
            connection, dispute.namespace, {Key(one.subject, one.relation, one.topic) for one in made}
        )
        self.settle(connection, dispute.namespace, now)

    def undo(self, user_id: str, decision_id: str, *, at: datetime) -> CuratorDecision:
        """Undo a decision in one transaction, and return it; undoing all decisions in reverse order restores the
        initial state.

        Raises:
            NotFoundError: the user has no such decision.
            InvalidInputError: the decision is already undone, or a later decision depends on it.
        """
        with self._database.write(user_id) as connection:
            decision = decisions.find(connection, user_id, decision_id)
            if decision is None:
                raise NotFoundError(f"user {user_id!r} has no decision {decision_id!r}; `nscma conflicts` lists them")
            _check_free(connection, decision)
            now = to_micros(at)
            recalled: Collection[str] = ()
            if FORGOTTEN in decision.before:
                recalled = bring_back(connection, decision)
            elif MERGED in decision.before:
                unmerge(connection, decision)
            elif decisions.OVERRULED in decision.before or self._is_refusal(decision):
                statement_groups.mark(connection, decision.namespace, [decision.key])
            elif decision.statement_seq is not None and decision.record.action != "PROPOSE":
                statements.withdraw(connection, [decision.statement_seq], True)
            decisions.mark_undone(connection, decision.seq)
            self.settle(connection, decision.namespace, now, recalled=recalled)
            streams.touch_user(connection, user_id, changed=True)
            undone = decisions.find(connection, user_id, decision_id)
        assert undone is not None  # it was there, in this transaction
        return undone.record

    def _is_refusal(self, decision: DecisionRow) -> bool:
        """Return True if the statement is ignored because the model's choice was refused; undoing such a decision asks
        again.
        """
        return self._rules.by_model and decision.before.get(OPERATION) == REFUSED

    def merge(self, user_id: str, proposal_id: str, *, at: datetime) -> CuratorDecision:
        """Merge the two entities in a proposal, in one transaction. Returns the MERGE decision, which can be undone.

        Raises:
            NotFoundError: the user has no such decision.
            InvalidInputError: the decision is not a proposal, or was already dismissed or accepted.
        """
        with self._database.write(user_id) as connection:
            proposal = decisions.find(connection, user_id, proposal_id)
            if proposal is None:
                raise NotFoundError(f"user {user_id!r} has no decision {proposal_id!r}; `nscma conflicts` lists them")
            if proposal.record.action != "PROPOSE" or proposal.record.undone:
                raise InvalidInputError(f"decision {proposal_id!r} is not an open proposal; nothing was merged")
            now = to_micros(at)
            key, into = proposal.record.subject, proposal.record.object
            before = entities.canonical(connection, proposal.namespace)
            entities.set_canonical(connection, proposal.namespace, {key: into})
            done = self.settle(connection, proposal.namespace, now)
            made = NewDecision(
                "MERGE", key, "", "", into, "the proposal was followed", None, _changed(done), merged(key, before)
            )
            (decision_id,) = decisions.insert(connection, proposal.namespace, user_id, [made], now)
            decision = decisions.find(connection, user_id, decision_id)
        assert decision is not None  # it was logged in this transaction
        return decision.record


def _changed(done: Sequence[Resolved]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fact.id for resolved in done for fact in resolved.facts))


def _check_free(connection: Connection, decision: DecisionRow) -> None:
    """Raise `InvalidInputError` if a decision is already undone, or if a later decision is about one of its facts."""
    if decision.record.undone:
        raise InvalidInputError(f"decision {decision.record.id!r} is undone already")
    own = set(decision.record.fact_ids)
    for later in decisions.later(connection, decision):
        entity = later.before.get(MERGED) == decision.before.get(MERGED) is not None
        if own & set(later.record.fact_ids) or entity:
            raise InvalidInputError(
                f"decision {later.record.id!r} ({later.record.action} {later.record.subject} {later.record.relation} "
                f"{later.record.object}) depends on {decision.record.id!r}; undo it first"
            )
