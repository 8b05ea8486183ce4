"""Run a store's background jobs: each user's jobs run on one worker at a time, in message order, and failures are
recorded.

A worker leases the users with waiting jobs that no other worker has leased, all of them by default (`user_shares`), and
processes their queues together. A user's results depend only on that user's jobs, so they are the same for any number
of workers.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Connection

from nscma_torch.core.database import user_versions
from nscma_torch.core.database.database import ALL_USERS, ONE_BY_ONE, Database, user_or_all
from nscma_torch.core.errors import EngineUnavailableError, NscmaError, StoreBusyError, StoreFullError
from nscma_torch.core.jobs import jobs, leases, worker_health
from nscma_torch.core.jobs.jobs import Job
from nscma_torch.core.jobs.leases import JOBS
from nscma_torch.core.jobs.user_shares import UserShare


@dataclass(frozen=True, slots=True)
class Handler:
    """Handler for one kind of job: `run` commits its results and finishes the jobs in one transaction.

    If `separable`, the jobs are independent: a batch takes them from all of a user's lanes, and after a failure they
    are retried one by one; other jobs are processed together, lane by lane. Jobs in a `stage` wait until no job in an
    earlier stage is queued. If `language`, the handler uses the language tasks, which may be unavailable. If `cut`,
    results depend on batch boundaries, so a background worker runs only full batches.

    `gather` is called before `run` with the batch and a function that returns the next batch from each waiting lane, so
    that shared work can be computed together. It commits nothing.
    """

    run: Callable[[Sequence[Job]], None]
    batch_size: int
    separable: bool = True
    stage: int = 0
    language: bool = False
    cut: bool = False
    gather: Callable[[Sequence[Job], Callable[[], Sequence[Sequence[Job]]]], None] | None = None


class _Circuit:
    """Circuit breaker for the language engine during one run of the worker.

    Each request is retried before it fails, so the circuit opens if the first batch gets no answer at all. If the
    engine has answered before in this run, the circuit opens only after more consecutive unanswered batches than a job
    has attempts: one bad message isn't an outage.
    """

    def __init__(self, handlers: Mapping[str, Handler], max_attempts: int) -> None:
        self._language = frozenset(kind for kind, handler in handlers.items() if handler.language)
        self._most = max_attempts
        self._answered = False
        self._silent = 0

    def note(self, kind: str, error: Exception | None) -> None:
        """Record how a batch of this kind ended."""
        if kind not in self._language:
            return
        if isinstance(error, EngineUnavailableError) and not error.answered:
            self._silent += 1
        else:
            self._answered, self._silent = True, 0

    @property
    def broken(self) -> bool:
        """Return True if the circuit is open and the engine is no longer used."""
        return self._silent > (self._most if self._answered else 0)

    def closed(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return the kinds in `sizes` that are still processed."""
        return {kind: size for kind, size in sizes.items() if not (self.broken and kind in self._language)}


@dataclass(frozen=True)
class _Run:
    """The jobs selected for one run of the worker, and the state of the run.

    `sizes` maps each kind of job to its maximum batch size. `user_id` and `users` restrict the run to these users,
    `share` to the users that it chooses. `goes_on` is called before each batch and `progress` after it, with the number
    of jobs. `lasting` is True for a background worker, where an outage costs no attempt. `up_to` restricts the run to
    episodes up to this row number, and `whole` to full batches for kinds with `cut`. `held` is the set of leased users.
    """

    circuit: _Circuit
    sizes: Mapping[str, int]
    user_id: str | None = None
    users: Collection[str] | None = None
    share: UserShare | None = None
    goes_on: Callable[[], bool] = lambda: True
    progress: Callable[[int], None] = lambda _: None
    lasting: bool = False
    up_to: int | None = None
    whole: bool = False
    held: set[str] = field(default_factory=set)


Around = Callable[[str, int], AbstractContextManager[object]]  # of a kind of job and the number of jobs
_POLL = 0.05  # seconds
_LOOK = 2.0  # seconds of work after which it looks for more users


class Worker:
    """Process the job queue.

    Args:
        handlers: the handler for each kind of job.
        count_recalls: counts the queued recalls for the users leased to the given owner.
        max_attempts: failures after which a job stays failed.
        lease_seconds: seconds after this worker's last heartbeat until another may take over its users.
        around: returns a context in which each batch runs.
    """

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, Handler],
        *,
        count_recalls: Callable[[str], None],
        max_attempts: int,
        lease_seconds: float,
        around: Around = lambda *_: nullcontext(),
    ) -> None:
        self._database = database
        self._handlers = handlers
        self._sizes = {kind: handler.batch_size for kind, handler in handlers.items()}
        self._uncut = frozenset(kind for kind, handler in handlers.items() if not handler.cut)
        self._alone = frozenset(kind for kind, handler in handlers.items() if handler.separable)
        self._stages = {kind: handler.stage for kind, handler in handlers.items()}
        self._working = threading.Lock()
        self._count_recalls = count_recalls
        self._max_attempts = max_attempts
        self._lease_seconds = lease_seconds
        self._around = around
        self._number = leases.new_number()
        self._renewed = self._looked = 0.0  # time.monotonic() of the last time

    def run_pending(self, *, timeout: float = 600.0, progress: Callable[[int], None] | None = None) -> int:
        """Count recalls, then run jobs until none is queued; return the number of jobs run.

        If another worker is running users' jobs, waits for it up to `timeout` seconds, then raises `StoreBusyError`. A
        failed job is recorded with its error and retried up to `max_attempts` times. If the language engine is
        unreachable, it isn't used again in this run (`_Circuit`): the jobs that need it stay queued, and those that
        tried it have used one attempt.
        """
        done, give_up = 0, time.monotonic() + timeout

        def count(jobs_run: int) -> None:
            nonlocal done
            done += jobs_run
            if progress is not None:
                progress(done)

        run = _Run(self._circuit(), self._sizes, progress=count)
        with self._working:  # a lease keeps other processes out, not other threads
            while self._pending(run.circuit.closed(run.sizes)):
                if self._leased(run) is None:
                    if time.monotonic() > give_up:
                        raise StoreBusyError(
                            f"another worker has kept users with waiting jobs for {timeout:.0f} s; try again later"
                        )
                    time.sleep(_POLL)
        return done

    def read(self, goes_on: Callable[[], bool], *, share: UserShare | None = None) -> bool:
        """Count recalls and run all jobs that don't depend on batch boundaries: those that extract facts, but not
        integration.

        Like `consolidate`, this is for background workers. It ends when `goes_on`, called before each batch, returns
        False, or when other workers have leased all waiting users. An unreachable engine costs no attempt.

        Args:
            share: chooses the users; by default, all users that no other worker has leased.

        Returns:
            False if the caller should wait, because an engine is unreachable or a bug made a batch fail.
        """
        sizes = {kind: size for kind, size in self._sizes.items() if kind in self._uncut}
        run = _Run(self._circuit(), sizes, goes_on=goes_on, lasting=True, share=share)
        while goes_on() and self._pending(sizes):
            with self._working:
                sound = self._leased(run)
            if not sound:
                return sound is None
        return True

    def consolidate(
        self, goes_on: Callable[[], bool], *, up_to: int, whole: bool, users: Collection[str] | None = None
    ) -> bool:
        """Run these users' jobs, or all jobs, on episodes up to a row number; the return value is as for `read`.

        With `whole`, jobs that depend on batch boundaries run only in full batches, which are the same at any time if
        all episodes up to `up_to` have been queued. Waits for users that another worker is processing.
        """
        with self._database.read(ALL_USERS) as connection:
            waiting = set(connection.execute(jobs.users_waiting(self._sizes, up_to=up_to)).scalars())
        left = waiting if users is None else waiting & set(users)
        circuit = self._circuit()
        while left and goes_on():
            run = _Run(circuit, self._sizes, users=left, goes_on=goes_on, lasting=True, up_to=up_to, whole=whole)
            with self._working:
                sound = self._leased(run)
            if sound is None:
                time.sleep(_POLL)
            elif not sound:
                return False
            left = left - run.held
        return True

    def settle(self, user_id: str, kinds: Collection[str], *, seconds: float, works: bool = True) -> None:
        """Run one user's jobs of these kinds until none is queued, or for `seconds`.

        If another worker is active, in this process or another, it is asked to process these jobs first. A running
        batch is finished. This doesn't count recalls, and if `works` is False, it runs no jobs itself.

        Raises:
            StoreError: the store can't be written, or another process keeps it locked.
        """
        until = time.monotonic() + seconds
        sizes = {kind: self._sizes[kind] for kind in kinds}
        run = _Run(self._circuit(), sizes, user_id, goes_on=lambda: time.monotonic() < until)
        asked = False
        try:
            while self._queued(user_id, run.circuit.closed(sizes)) and (left := until - time.monotonic()) > 0:
                if works and self._working.acquire(blocking=False):
                    try:
                        if self._leased(run, wait=left) is not None:
                            continue
                    finally:
                        self._working.release()
                if not asked:
                    self._ask_for(user_id, left)
                    asked = True
                time.sleep(min(_POLL, left))
        finally:
            if asked:  # and where the store is busy it expires
                with suppress(StoreBusyError), self._database.write(user_id, wait=_POLL) as connection:
                    leases.asked(connection, user_id, self._owner)

    def _ask_for(self, user_id: str, seconds: float) -> None:
        with self._database.write(user_id, wait=seconds) as connection:
            until = leases.now(connection) + int(seconds * 1e6)
            leases.ask_for(connection, user_id, self._owner, until=until)

    @property
    def _owner(self) -> str:
        """Return this worker's owner name for leases; a forked child gets another name."""
        return leases.owner_name(self._number)

    def _circuit(self) -> _Circuit:
        return _Circuit(self._handlers, self._max_attempts)

    def _queued(self, user_id: str, kinds: Collection[str]) -> bool:
        with self._database.read(user_id) as connection:
            return jobs.queued(connection, user_id, kinds)

    def _pending(self, kinds: Collection[str]) -> bool:
        with self._database.read(ALL_USERS) as connection:
            return jobs.waiting(connection, kinds)

    def _claim(self, run: _Run, *, wait: float | None = None) -> bool:
        """Lease more users for a run; return True if it holds any. `wait` is as in `Database.write`."""
        self._looked = time.monotonic()
        kinds = run.circuit.closed(run.sizes)
        chosen: Collection[str] = () if run.user_id is None else (run.user_id,)
        if run.user_id is None:
            with self._database.read(ALL_USERS) as connection:
                wanted = jobs.users_waiting(kinds, up_to=run.up_to)
                reach = leases.reach(self._lease_seconds)
                now = leases.now(connection)
                free = leases.free(connection, JOBS, wanted, self._owner, now=now, longest=reach)
            free = [user_id for user_id in free if user_id not in run.held]
            if run.users is not None:
                free = [user_id for user_id in free if user_id in run.users]
            chosen = free if run.share is None else run.share.chosen(free, held=len(run.held))
        taken = self._take(chosen, wait=wait)
        run.held.update(taken)
        return bool(taken)

    def _take(self, user_ids: Collection[str], *, wait: float | None = None) -> list[str]:
        """Lease the given users, except those leased by another worker; return the users leased."""
        if not user_ids:
            return []
        with self._database.write(ONE_BY_ONE, wait=wait) as connection:
            now = leases.now(connection)
            reach = leases.reach(self._lease_seconds)
            return leases.claim(connection, JOBS, user_ids, self._owner, now=now, until=self._until(now), longest=reach)

    def _give_back(self, user_ids: Sequence[str] | None = None) -> None:
        with self._database.write(ONE_BY_ONE) as connection:
            leases.release(connection, JOBS, self._owner, user_ids)

    def _renew(self) -> None:
        """Extend this worker's leases."""
        self._renewed = time.monotonic()
        with self._database.write(ONE_BY_ONE) as connection:
            leases.renew(connection, JOBS, self._owner, until=self._until(leases.now(connection)))

    def _until(self, now: int) -> int:
        return now + int(self._lease_seconds * 1e6)

    def _leased(self, run: _Run, *, wait: float | None = None) -> bool | None:
        """Lease users and run their jobs; return None if other workers have all waiting users, else the result of
        `_work_off`.
        """
        self._renewed = time.monotonic()
        run.held.clear()
        if not self._claim(run, wait=wait):
            return None
        try:
            if run.user_id is None:
                self._count_recalls(self._owner)
            return self._work_off(run)
        finally:
            self._give_back()

    def _work_off(self, run: _Run) -> bool:
        """Run batches until none remains or the run should end; the return value is as for `read`."""
        ahead: deque[list[Job]] = deque()
        while run.goes_on():
            self._keep(run)
            lent: list[str] = []  # a user the run has not leased, for one batch
            batch = self._asked_for(run, lent)
            if not batch:
                with self._database.read(user_or_all(run.user_id)) as connection:
                    batch = self._next_batch(connection, run, ahead)
            if not batch:
                break
            try:
                sound = self._run_batch(batch, run, ahead)
            finally:
                if lent:
                    self._give_back(lent)
            run.progress(len(batch))
            if not sound:
                return False
        return not run.circuit.broken

    def _keep(self, run: _Run) -> None:
        """Extend the leases and lease more users, each at its interval."""
        now = time.monotonic()
        if now - self._renewed > self._lease_seconds / 3:
            self._renew()
        if now - self._looked > _LOOK and run.user_id is None and run.users is None and self._claim(run):
            self._count_recalls(self._owner)

    def _run_batch(self, batch: Sequence[Job], run: _Run, ahead: Sequence[Sequence[Job]]) -> bool:
        """Run one batch; return False if a bug made it fail in a background worker."""
        kind = batch[0].kind
        handler = self._handlers[kind]
        with self._database.read(batch[0].user_id) as connection:
            epoch = user_versions.version(connection, batch[0].user_id)[1]
        try:
            with self._renewing(), self._around(kind, len(batch)):
                if handler.gather is not None:
                    handler.gather(batch, partial(self._next_of_lanes, batch, run, ahead))
                handler.run(batch)
        except Exception as error:
            run.circuit.note(kind, error)
            self._failed(batch, error, epoch, counted=not (run.lasting and run.circuit.broken))
            if not isinstance(error, NscmaError):  # a fault of the program's: not hidden, nor in the way for ever
                if run.lasting:
                    return False
                raise
        else:
            run.circuit.note(kind, None)
        return True

    def _asked_for(self, run: _Run, lent: list[str]) -> list[Job]:
        """Return the next batch for a user whose question is waiting; if the run hasn't leased the user, add them to
        `lent`."""
        if run.user_id is not None:
            return []
        with self._database.read(ALL_USERS) as connection:
            asking = leases.asking(connection, now=leases.now(connection))
        uncut = {kind: size for kind, size in run.circuit.closed(run.sizes).items() if kind in self._uncut}
        for user_id in asking:
            with self._database.read(user_id) as connection:
                waits = jobs.queued(connection, user_id, uncut)
            if not waits:
                continue
            if user_id not in run.held:
                lent += self._take([user_id])
            with self._database.read(user_id) as connection:
                batch = self._of_user(connection, user_id, uncut)
            if batch:
                return batch
            if lent:
                self._give_back(lent)
                lent.clear()
        return []

    def _of_user(self, connection: Connection, user_id: str, sizes: Mapping[str, int]) -> list[Job]:
        """Return the next batch for a user leased by this worker, or an empty list for other users."""
        return jobs.next_batch(
            connection, sizes, alone=self._alone, stages=self._stages, user_id=user_id, owner=self._owner
        )

    def _next_batch(self, connection: Connection, run: _Run, ahead: deque[list[Job]]) -> list[Job]:
        """Return the next jobs to run for the leased users. `ahead` contains the full batches that follow."""
        sizes = run.circuit.closed(run.sizes)
        uncut = {kind: size for kind, size in sizes.items() if kind in self._uncut}
        if run.user_id is not None:
            return self._of_user(connection, run.user_id, sizes)
        own = uncut if run.whole else sizes
        batch = jobs.next_batch(
            connection, own, alone=self._alone, stages=self._stages, owner=self._owner, up_to=run.up_to
        )
        if batch:
            return batch
        while ahead:
            batch = ahead.popleft()
            if batch[0].kind in sizes and jobs.all_queued(connection, batch):
                return batch
        if run.whole and run.up_to is not None:
            for kind in (kind for kind in sizes if kind not in uncut):
                ahead.extend(jobs.whole_batches(connection, kind, sizes[kind], up_to=run.up_to, owner=self._owner))
        return ahead.popleft() if ahead else []

    def _next_of_lanes(self, batch: Sequence[Job], run: _Run, ahead: Sequence[Sequence[Job]]) -> list[Sequence[Job]]:
        """Return the next batch from each lane, of the same kind as this batch."""
        kind = batch[0].kind
        if run.whole:
            return [own for own in (batch, *ahead) if own[0].kind == kind]
        with self._database.read(user_or_all(run.user_id)) as connection:
            lanes = jobs.next_of_lanes(
                connection, kind, run.sizes[kind], user_id=run.user_id, owner=self._owner, up_to=run.up_to
            )
            return list(lanes)

    def _failed(self, batch: Sequence[Job], error: Exception, epoch: int, *, counted: bool) -> None:
        user_id = batch[0].user_id
        with self._database.write(user_id) as connection:
            text = f"{type(error).__name__}: {error}"
            if user_versions.version(connection, user_id)[1] != epoch:  # it may quote erased text
                text = jobs.FORGOTTEN
            worker_health.note_error(connection, user_id, text, leases.now(connection))
            if counted:
                jobs.fail(connection, batch, text, max_attempts=self._max_attempts, alone=self._alone)

    @contextmanager
    def _renewing(self) -> Iterator[None]:
        """Extend the leases while a batch runs, as its language work may take long."""
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(self._lease_seconds / 3):
                try:
                    self._renew()
                except (StoreBusyError, StoreFullError):  # there is time for another try
                    continue

        renewer = threading.Thread(target=renew, daemon=True)
        renewer.start()
        try:
            yield
        finally:
            ended.set()
            renewer.join()
