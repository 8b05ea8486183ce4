"""Sleep: process deferred messages, and maintain facts, importance and the profile. It is idempotent.

First, jobs under the worker's lease extract and curate deferred messages and renew summaries. If a job fails, sleep
stops, and the job keeps its error. Then each stage runs in one transaction per user: disputes, duplicates, decay,
promotion, profile. Between transactions, the language tasks judge disputes that weights don't settle, and derive texts
(`derived`). If the process is killed, each stage is either complete or not started; the next sleep continues from
there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from sqlalchemy import Connection

from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database, user_or_all
from nscma_torch.core.errors import EngineUnavailableError, NotFoundError, NscmaError, TimestampError
from nscma_torch.core.jobs import jobs
from nscma_torch.core.protocols import CuratorTasks
from nscma_torch.core.records import Scope, SleepReport
from nscma_torch.curator import statistics
from nscma_torch.curator.derived.derivations import Derivations
from nscma_torch.curator.forgetting import bring_back_early, fade
from nscma_torch.curator.profile import write_profile
from nscma_torch.curator.promotion import promote
from nscma_torch.episodic.log import backlog, episodes
from nscma_torch.episodic.log.backlog import EXTRACT
from nscma_torch.episodic.log.recalls import PendingRecalls, count_recalls, note_recalls
from nscma_torch.hierarchy.store import missing_summaries
from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.store import facts, namespaces, statement_groups
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.timeline.curation import Curator
from nscma_torch.semantic.timeline.dispute_verdicts import Dispute, checked_verdicts, open_disputes
from nscma_torch.semantic.timeline.name_merging import propose
from nscma_torch.text.names import name_key

_Stage = Callable[[Connection, str, datetime], Counter[str]]


class Retain(Protocol):
    """Erases these users' messages that are too old, and returns their number; a dry run only counts them."""

    def __call__(self, user_ids: Sequence[str], now: datetime, *, dry_run: bool) -> int: ...


@dataclass(frozen=True, slots=True)
class Queued:
    """Queue length at the start of a sleep, and the number of these users' jobs that had already failed."""

    sleepers: tuple[str, ...]
    tally: Counter[str]
    failed: int


_FAR = timedelta(days=3653)  # from the last message to a clock that is believed


class _DryRun(Exception):  # noqa: N818 - ends a transaction, and is no error
    """Rolls back the transaction of a dry run."""


class Sleeper:
    """Runs the stages of sleep for one user or all users.

    Args:
        work: runs the store's background jobs until none is queued.
        derivations: derive texts from messages as the last stage; None to skip that stage.
        tasks: judges disputes; disputes stay open if it doesn't implement `CuratorTasks`.
        retain: erases these users' messages that are too old, and returns their number; None to keep all.
        judge: the name of `tasks`, for the log and to avoid repeated questions; must be the same in every process.
    """

    def __init__(
        self,
        database: Database,
        curator: Curator,
        schema: Schema,
        settings: CuratorConfig,
        work: Callable[..., object],
        *,
        derivations: Derivations | None = None,
        tasks: object = None,
        judge: Callable[[], str] = str,
        retain: Retain | None = None,
    ) -> None:
        self._database = database
        self._curator = curator
        self._schema = schema
        self._settings = settings
        self._work = work
        self._derivations = derivations
        self._tasks = tasks if isinstance(tasks, CuratorTasks) else None
        self._judge = judge
        self._retain = retain

    def sleep(
        self,
        user_id: str | None = None,
        *,
        now: datetime,
        dry_run: bool = False,
        recalls: Mapping[str, PendingRecalls] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> SleepReport:
        """Run all stages and report the changes; with `dry_run`, report them without making any.

        A dry run doesn't process deferred messages: it only counts them, plans the remaining stages without them, and
        lets no dispute be judged. `recalls` contains the recalls not yet queued, by user: for each message their number
        and the time of the last one. Raises `NotFoundError` for a user without memory, and `TimestampError` like
        `check_clock`.
        """
        with self._database.read(user_or_all(user_id)) as connection:
            everyone = statistics.users_of(connection)
            check_clock(connection, now)
        if user_id is not None and user_id not in everyone:
            raise NotFoundError(f"user {user_id!r} has no memory in this store")
        sleepers = everyone if user_id is None else [user_id]
        if dry_run:
            return self._dry_run(sleepers, now, recalls or {})
        queued = self.queue(sleepers, now)
        self._work(progress=progress)
        return self.maintain(queued, now)

    def _dry_run(self, sleepers: Sequence[str], now: datetime, recalls: Mapping[str, PendingRecalls]) -> SleepReport:
        tally = self._erased(sleepers, now, dry_run=True)
        for sleeper in sleepers:
            counts, times = recalls.get(sleeper, PendingRecalls(Counter(), {}))
            with suppress(_DryRun), self._database.write(sleeper) as connection:
                note_recalls(connection, sleeper, counts, times)
                for stage in (self._queue, self._settle, *self._tidying, self._due):
                    tally += stage(connection, sleeper, now)
                raise _DryRun
        return _report(sleepers, tally, dry_run=True)

    def queue(self, sleepers: Sequence[str], now: datetime) -> Queued:
        """Run the first stages: erase what is too old, and queue deferred messages and outdated summaries as background
        jobs.
        """
        tally = self._erased(sleepers, now, dry_run=False)
        failed = 0
        for sleeper in sleepers:
            with self._database.write(sleeper) as connection:
                tally += self._queue(connection, sleeper, now)
                failed += jobs.states(connection, sleeper).get("failed", 0)
        return Queued(tuple(sleepers), tally, failed)

    def _erased(self, sleepers: Sequence[str], now: datetime, *, dry_run: bool) -> Counter[str]:
        return Counter(erased=0 if self._retain is None else self._retain(sleepers, now, dry_run=dry_run))

    def maintain(self, queued: Queued, now: datetime) -> SleepReport:
        """Run the remaining stages once the jobs are done; skip them all if any of these users' jobs has failed since
        `queue`.
        """
        sleepers, tally = queued.sleepers, Counter(queued.tally)
        failed, put_off, errors = 0, False, set[str]()
        for sleeper in sleepers:
            with self._database.read(sleeper) as connection:
                failed += jobs.states(connection, sleeper).get("failed", 0)
                put_off |= jobs.put_off(connection, sleeper)
                errors.update(jobs.failures(connection, sleeper))
        if failed > queued.failed or put_off:
            return _report(sleepers, tally, failures=sorted(errors))
        tally += self._tidy(self._settle, sleepers, now)
        adjudicated, failures = self._adjudicate(sleepers, now)
        tally.update(settled=adjudicated, disputed=-adjudicated)
        for stage in self._tidying:
            tally += self._tidy(stage, sleepers, now)
        for sleeper in sleepers:
            derived, failed_ones = (0, []) if self._derivations is None else self._derivations.run(sleeper, now)
            tally.update(derived_texts=derived)
            failures += failed_ones
        return _report(sleepers, tally, failures=failures)

    @property
    def _tidying(self) -> Sequence[_Stage]:
        return (self._propose, self._fade, self._promote, self._profile)

    def _tidy(self, stage: _Stage, sleepers: Sequence[str], now: datetime) -> Counter[str]:
        tally: Counter[str] = Counter()
        for sleeper in sleepers:
            with self._database.write(sleeper) as connection:
                tally += stage(connection, sleeper, now)
        return tally

    def _adjudicate(self, sleepers: Sequence[str], now: datetime) -> tuple[int, list[str]]:
        """Have the language tasks judge open disputes, one batch per namespace; return the number of groups settled,
        and the failures.

        If a batch fails, or its disputes change while they are judged, they are left as they are. Undecided disputes
        are judged again once a new statement about them arrives.
        """
        settled = 0
        failures: list[str] = []
        if self._tasks is None:
            return settled, failures
        judge = self._judge()
        found: list[tuple[str, str, list[Dispute]]] = []
        for sleeper in sleepers:
            with self._database.read(sleeper) as connection:
                own = namespaces.of_scope(connection, Scope(sleeper))
                found += [(sleeper, namespace, self._open(connection, namespace, judge)) for namespace in own]
        for sleeper, namespace, disputes in found:
            try:
                asked = [[side.said for side in dispute.sides] for dispute in disputes]
                verdicts = checked_verdicts(self._tasks.adjudicate(asked), disputes) if asked else []
            except NscmaError as error:
                failures.append(f"{type(error).__name__}: {error}")
                if isinstance(error, EngineUnavailableError):  # the others would wait as long, for nothing
                    break
                continue
            for dispute, right in zip(disputes, verdicts, strict=True):
                with self._database.write(sleeper) as connection:
                    before = self._disputed(connection, namespace)
                    if dispute in self._open(connection, namespace, judge):
                        self._curator.rule(connection, dispute, right, judge, to_micros(now))
                    settled += len(before - self._disputed(connection, namespace))
        return settled, failures

    def _open(self, connection: Connection, namespace: str, judge: str) -> list[Dispute]:
        every = self._settings.conflict_set == "relation"
        return open_disputes(connection, namespace, self._schema, judge, one_object=every)

    def _queue(self, connection: Connection, user_id: str, now: datetime) -> Counter[str]:
        recalled = count_recalls(connection, user_id)
        deferred = backlog.queue_deferred(connection, user_id, EXTRACT, to_micros(now))
        return Counter(replayed=recalled + deferred, refreshed=missing_summaries.queue_stale(connection, user_id))

    def _settle(self, connection: Connection, user_id: str, now: datetime) -> Counter[str]:
        """Weigh the sides of each dispute again under the current rules."""
        tally: Counter[str] = Counter()
        for namespace in namespaces.of_scope(connection, Scope(user_id)):
            before = self._disputed(connection, namespace)
            statement_groups.mark(connection, namespace, before)
            self._curator.settle(connection, namespace, to_micros(now))
            after = self._disputed(connection, namespace)
            tally += Counter(settled=len(before - after), disputed=len(after))
        return tally

    def _disputed(self, connection: Connection, namespace: str) -> set[Key]:
        owner = namespaces.owner(connection, namespace)
        found = facts.select_facts(connection, owner, statuses=("disputed",))
        return {
            Key(name_key(fact.subject), fact.relation, fact.topic)
            for fact in found
            if fact.scope.agent_id == owner.agent_id
        }

    def _propose(self, connection: Connection, user_id: str, now: datetime) -> Counter[str]:
        own = namespaces.of_scope(connection, Scope(user_id))
        return Counter(
            proposed=sum(len(propose(connection, namespace, self._schema, to_micros(now))) for namespace in own)
        )

    def _fade(self, connection: Connection, user_id: str, now: datetime) -> Counter[str]:
        bring_back_early(connection, Scope(user_id), now, self._curator.settle)
        of_facts, of_messages = fade(connection, Scope(user_id), now, self._settings)
        return Counter(forgotten_facts=of_facts, forgotten_messages=of_messages)

    def _promote(self, connection: Connection, user_id: str, _now: datetime) -> Counter[str]:
        return Counter(promoted=promote(connection, Scope(user_id), self._settings))

    def _due(self, connection: Connection, user_id: str, now: datetime) -> Counter[str]:
        due = 0 if self._derivations is None else self._derivations.count_due(connection, user_id, now)
        return Counter(derived_texts=due)

    def _profile(self, connection: Connection, user_id: str, now: datetime) -> Counter[str]:
        own = namespaces.of_scope(connection, Scope(user_id))
        written = (write_profile(connection, namespace, now, self._schema, self._settings) for namespace in own)
        return Counter(profile_lines=sum(written))


def check_clock(connection: Connection, now: datetime) -> None:
    """Raise `TimestampError` if `now` is ten years or more from the last message, since a wrong clock would forget
    everything.
    """
    last = episodes.last_recorded(connection)
    if last is not None and abs(now - last) > _FAR:
        raise TimestampError(
            f"the clock says {now.isoformat()}, but the last message was stored at {last.isoformat()}; set the clock, "
            "or add a message first if both are right"
        )


def _report(
    users: Sequence[str], tally: Counter[str], *, dry_run: bool = False, failures: Sequence[str] = ()
) -> SleepReport:
    return SleepReport(tuple(users), dry_run=dry_run, failures=tuple(failures), **tally)
