"""Process a user's new messages before a question is answered.

Facts are a function of the statements read, and each step that derives them is one transaction. So if time runs out,
the facts are consistently those from an earlier time, and the messages not yet included are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from nscma_torch.core.database.database import NO_USER, Database
from nscma_torch.core.errors import StoreAccessError, StoreBusyError, StoreFullError
from nscma_torch.core.jobs import jobs, leases, worker_health
from nscma_torch.core.jobs.worker import Worker
from nscma_torch.episodic.log.backlog import EXTRACT, RESTATE
from nscma_torch.semantic.store.statement_groups import CURATE

_READING = (EXTRACT, RESTATE)
_KINDS = (*_READING, CURATE)


class ReadingOutcome(NamedTuple):
    """The messages that aren't reflected in the facts yet.

    `waiting` messages are still to be processed; `failed` messages won't be retried; `unmade` messages were read, but
    facts aren't derived from them yet. `problem` is the reason why they couldn't be processed now.
    """

    waiting: int = 0
    failed: int = 0
    unmade: bool = False
    problem: str = ""

    def notes(self) -> tuple[str, ...]:
        """Return one sentence for each problem; empty if the facts reflect all messages."""
        found = []
        if self.waiting:
            found.append(f"{_messages(self.waiting)} not yet read")
        if self.failed:
            found.append(f"{_messages(self.failed)} could not be read; see `nscma stats`, then `nscma retry`")
        if self.unmade:
            found.append("facts are not derived yet from the latest messages read")
        if self.problem:
            found.append(f"the facts could not be updated: {self.problem}")
        return tuple(found)


class PendingReader:
    """Processes the jobs in one user's queue on which facts depend.

    Args:
        worker: a function that returns the worker; called if jobs are queued.
        seconds: time after which no further batch of messages is started; facts are then derived from the messages
            read, for at most the same time again. 0 leaves all work to `flush`.
        reads: process messages here. If False because a language model reads them, which may be slow or unavailable,
            this is left to `flush` and to a background worker, which is asked to process this user first.
        decides: derive facts here from the messages read; False if a language model decides on facts.
    """

    def __init__(
        self,
        database: Database,
        worker: Callable[[], Worker],
        *,
        seconds: float,
        reads: Callable[[], bool],
        decides: Callable[[], bool],
    ) -> None:
        self._database = database
        self._worker = worker
        self._seconds = seconds
        self._reads = reads
        self._decides = decides

    def settle(self, user_id: str) -> ReadingOutcome:
        """Process the user's queue within the time limit; return a report on the messages that remain."""
        problem = ""
        if self._seconds and self._queued(user_id, _KINDS):
            try:
                if self._reads():
                    self._worker().settle(user_id, _KINDS, seconds=self._seconds)
                elif self._has_worker():
                    self._worker().settle(user_id, _KINDS, seconds=self._seconds, works=False)
                if self._decides() and self._queued(user_id, (CURATE,)):
                    self._worker().settle(user_id, (CURATE,), seconds=self._seconds)
            except (StoreAccessError, StoreBusyError, StoreFullError) as error:  # a question itself changes nothing
                problem = str(error)
        with self._database.read(user_id) as connection:
            states = jobs.waiting_episodes(connection, user_id, _READING)
            unmade = jobs.queued(connection, user_id, (CURATE,), or_failed=True)
        return ReadingOutcome(states.get("queued", 0), states.get("failed", 0), unmade, problem)

    def _has_worker(self) -> bool:
        with self._database.read(NO_USER) as connection:
            return bool(worker_health.living(connection, now=leases.now(connection)))

    def _queued(self, user_id: str, kinds: Collection[str]) -> bool:
        with self._database.read(user_id) as connection:
            return jobs.queued(connection, user_id, kinds)


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"
