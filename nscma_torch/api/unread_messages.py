"""Process a user's fresh messages before a question is answered.

Facts are a function of the statements read, and each step of making them is one transaction. So if time runs out, the
facts are those of an earlier moment, as a whole, and the messages not yet included are counted.
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
    """Messages not yet reflected in the facts.

    `waiting` messages are still to be processed, `failed` ones were given up, and `unmade` ones were read but have no
    facts yet. `problem` says why they could not be processed now.
    """

    waiting: int = 0
    failed: int = 0
    unmade: bool = False
    problem: str = ""

    def notes(self) -> tuple[str, ...]:
        """Return the same in words, one sentence each; empty if all messages are in the facts."""
        found = []
        if self.waiting:
            found.append(f"{_messages(self.waiting)} not yet read")
        if self.failed:
            found.append(f"{_messages(self.failed)} could not be read; see `nscma stats`, then `nscma retry`")
        if self.unmade:
            found.append("no facts were made yet of what was read last")
        if self.problem:
            found.append(f"the facts were not brought up to date: {self.problem}")
        return tuple(found)


class PendingReader:
    """Process one user's queue, as far as facts depend on it.

    Args:
        worker: returns the worker; called if jobs are queued.
        seconds: time after which no further batch of messages is started; facts are then made from what was read for as
            long again. 0 leaves all work to `flush`.
        reads: process messages here. If a language model reads them, that is left to `flush`, as it may be slow or
            away, and to a background worker, which is asked to process this user first and waited for.
        decides: make facts here from what was read; False if a language model decides on them.
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
        """Process the user's queue within the time limit; the rest is counted and reported."""
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
