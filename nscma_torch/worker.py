"""Runs the background jobs of a store: one worker at a time, batches in the order of what was said, failures kept and
visible."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from nscma_torch.errors import EngineUnavailableError, NscmaError, StoreBusyError
from nscma_torch.storage import jobs, leases, streams, worker_health
from nscma_torch.storage.database import ALL_USERS, NO_USER, Database, user_or_all
from nscma_torch.storage.jobs import Job


@dataclass(frozen=True, slots=True)
class Handler:
    """What works on one kind of job: `run` commits its results and finishes the jobs in one transaction.

    `separable` jobs depend on no other: a batch takes them from all lanes of a user, and where it fails they are tried
    one by one; those of other kinds make sense together only, lane by lane. Jobs of a `stage` wait until none of an
    earlier stage is queued. `language`: it asks the language tasks, which may be out of reach. `cut`: results depend on
    where batches are cut, so beside an application only whole ones are run.

    `gather` comes before `run`, with the batch and with what tells the next batch of each lane that waits: what these
    have in common can be computed together. It commits nothing.
    """

    run: Callable[[Sequence[Job]], None]
    batch_size: int
    separable: bool = True
    stage: int = 0
    language: bool = False
    cut: bool = False
    gather: Callable[[Sequence[Job], Callable[[], Sequence[Sequence[Job]]]], None] | None = None


class _Circuit:
    """Whether the language engine is still asked in one run of the worker: a circuit breaker.

    Each request is sent several times before it fails for good, so a first batch without any answer ends the asking. An
    engine that has answered in this run is only given up after more such batches in a row than one job has attempts:
    one message that it chokes on is no outage.
    """

    def __init__(self, handlers: Mapping[str, Handler], max_attempts: int) -> None:
        self._language = frozenset(kind for kind, handler in handlers.items() if handler.language)
        self._most = max_attempts
        self._answered = False
        self._silent = 0

    def note(self, kind: str, error: Exception | None) -> None:
        """Take note of how a batch of this kind ended."""
        if kind not in self._language:
            return
        if isinstance(error, EngineUnavailableError) and not error.answered:
            self._silent += 1
        else:
            self._answered, self._silent = True, 0

    @property
    def broken(self) -> bool:
        """Whether the engine is not asked any more."""
        return self._silent > (self._most if self._answered else 0)

    def closed(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Those of these kinds that are still worked on."""
        return {kind: size for kind, size in sizes.items() if not (self.broken and kind in self._language)}


@dataclass(frozen=True)
class _Run:
    """What one run of the worker takes on.

    `sizes`: the kinds of jobs, with the most of a batch; `user_id`: of this user alone. Before each batch `goes_on` is
    asked, after it `progress` is told the number of its jobs. `lasting`: beside an application, where an outage costs
    no job an attempt. `up_to`: on episodes up to this row number; `whole`: of kinds that are `cut` only whole batches.
    """

    circuit: _Circuit
    sizes: Mapping[str, int]
    user_id: str | None = None
    goes_on: Callable[[], bool] = lambda: True
    progress: Callable[[int], None] = lambda _: None
    lasting: bool = False
    up_to: int | None = None
    whole: bool = False


LEASE = "worker"  # the right to run jobs
_POLL = 0.05  # seconds


class Worker:
    """Works off the queue.

    Args:
        handlers: what works on each kind of job.
        recall_kind: the kind of job by which a recalled, not yet encoded episode is queued.
        max_attempts: failures after which a job is left as failed.
        lease_seconds: how long after its last sign of life another worker may step in.
    """

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, Handler],
        *,
        recall_kind: str,
        max_attempts: int,
        lease_seconds: float,
    ) -> None:
        self._database = database
        self._handlers = handlers
        self._sizes = {kind: handler.batch_size for kind, handler in handlers.items()}
        self._uncut = frozenset(kind for kind, handler in handlers.items() if not handler.cut)
        self._alone = frozenset(kind for kind, handler in handlers.items() if handler.separable)
        self._stages = {kind: handler.stage for kind, handler in handlers.items()}
        self._working = threading.Lock()
        self._recall_kind = recall_kind
        self._max_attempts = max_attempts
        self._lease_seconds = lease_seconds
        self._number = leases.new_number()

    def run_pending(self, *, timeout: float = 600.0, progress: Callable[[int], None] | None = None) -> int:
        """Count the recalls, then run jobs until none is queued; returns how many were run.

        Waits for another worker of this store, at most `timeout` seconds (`StoreBusyError`). A job that fails is
        recorded with its error and tried again until `max_attempts`. Where the language engine is out of reach it is
        not asked again in this run (`_Circuit`): the jobs that need it stay queued, those that asked with an attempt
        less.
        """
        done, give_up = 0, time.monotonic() + timeout

        def count(jobs_run: int) -> None:
            nonlocal done
            done += jobs_run
            if progress is not None:
                progress(done)

        run = _Run(self._circuit(), self._sizes, progress=count)
        with self._working:  # the lease keeps other processes out, not other threads
            while self._pending(run.circuit.closed(run.sizes)):
                if self._leased(run) is None:
                    if time.monotonic() > give_up:
                        raise StoreBusyError(f"another worker has held the store for {timeout:.0f} s; try again later")
                    time.sleep(_POLL)
        return done

    def read(self, goes_on: Callable[[], bool]) -> bool:
        """Count the recalls and run all jobs whose batches may be cut anywhere: what makes facts, no integration.

        For a worker beside an application; so is `consolidate`. It ends when `goes_on`, asked before each batch, says
        so. An engine out of reach costs no job an attempt.

        Returns:
            False where it should rest: an engine is out of reach, or a fault of the program's made a batch fail.
        """
        sizes = {kind: size for kind, size in self._sizes.items() if kind in self._uncut}
        return self._beside(_Run(self._circuit(), sizes, goes_on=goes_on, lasting=True), lambda: self._pending(sizes))

    def consolidate(self, goes_on: Callable[[], bool], *, up_to: int, whole: bool) -> bool:
        """Run the jobs of all users on episodes up to a row number; returns what `read` does.

        With `whole`, of jobs that depend on how batches are cut, only whole batches: they are the same whenever this is
        called, if all episodes up to `up_to` that are to be read have been queued for it.
        """
        run = _Run(self._circuit(), self._sizes, goes_on=goes_on, lasting=True, up_to=up_to, whole=whole)
        return self._beside(run, lambda: self._pending(self._sizes))

    def _beside(self, run: _Run, due: Callable[[], bool]) -> bool:
        """Run once, when no other worker does, if there is work."""
        while run.goes_on() and due():
            with self._working:
                sound = self._leased(run)
            if sound is not None:
                return sound
            time.sleep(_POLL)
        return True

    def settle(self, user_id: str, kinds: Collection[str], *, seconds: float, works: bool = True) -> None:
        """Have one user's jobs of these kinds run until none is queued, or for `seconds`.

        Where another worker is at work, in this process or another, it is asked to take them first. A batch that has
        begun is finished. Recalls are left to others, and with `works` False so are the jobs.

        Raises:
            StoreError: the store cannot be written, or another process was writing all the time.
        """
        until = time.monotonic() + seconds
        sizes = {kind: self._sizes[kind] for kind in kinds}
        run = _Run(self._circuit(), sizes, user_id, lambda: time.monotonic() < until)
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
        until = time.time_ns() // 1000 + int(seconds * 1e6)
        with self._database.write(user_id, wait=seconds) as connection:
            leases.ask_for(connection, user_id, self._owner, until=until)

    @property
    def _owner(self) -> str:
        """Who holds the lease; a forked child is somebody else."""
        return leases.owner_name(self._number)

    def _circuit(self) -> _Circuit:
        return _Circuit(self._handlers, self._max_attempts)

    def _queued(self, user_id: str, kinds: Collection[str]) -> bool:
        with self._database.read(user_id) as connection:
            return jobs.queued(connection, user_id, kinds)

    def _pending(self, kinds: Collection[str]) -> bool:
        with self._database.read(ALL_USERS) as connection:
            return jobs.waiting(connection, kinds)

    def _hold(self, *, wait: float | None = None) -> bool:
        """Take the lease, or push it ahead; False while another worker has it. `wait` as in `Database.write`."""
        now = time.time_ns() // 1000
        until = now + int(self._lease_seconds * 1e6)
        with self._database.write(NO_USER, wait=wait) as connection:
            return leases.take_over(connection, LEASE, self._owner, now=now, until=until)

    def _leased(self, run: _Run, *, wait: float | None = None) -> bool | None:
        """Hold the lease for one run; None while another worker has it, else what `_work_off` returns."""
        if not self._hold(wait=wait):
            return None
        try:
            if run.user_id is None:
                self._count_recalls()
            return self._work_off(run)
        finally:
            with self._database.write(NO_USER) as connection:
                leases.release(connection, LEASE, self._owner)

    def _count_recalls(self) -> None:
        """Count the recalls of each user who has some; where nobody has, nothing is written."""
        with self._database.read(ALL_USERS) as connection:
            recalled = jobs.users_recalled(connection)
        for user_id in recalled:
            with self._database.write(user_id) as connection:
                jobs.count_recalls(connection, user_id, self._recall_kind)

    def _work_off(self, run: _Run) -> bool:
        """Run batches until there is none, or the run goes on no longer; False as `read` says."""
        ahead: deque[list[Job]] = deque()
        while run.goes_on() and self._hold():
            with self._database.read(user_or_all(run.user_id)) as connection:
                batch = self._next_batch(connection, run, ahead)
                epoch = streams.version(connection, batch[0].user_id)[1] if batch else 0
            if not batch:
                break
            kind = batch[0].kind
            handler = self._handlers[kind]
            try:
                with self._renewing():
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
            run.progress(len(batch))
        return not run.circuit.broken

    def _next_batch(self, connection: Connection, run: _Run, ahead: deque[list[Job]]) -> list[Job]:
        """The jobs to run next: those of users whose questions wait, then those that the run is for.

        `ahead` keeps the whole batches that come next.
        """
        sizes = run.circuit.closed(run.sizes)
        uncut = {kind: size for kind, size in sizes.items() if kind in self._uncut}
        asking = [] if run.user_id is not None else leases.asking(connection, now=time.time_ns() // 1000)
        own = uncut if run.whole else sizes
        for some, user_id, up_to in (*((uncut, user, None) for user in asking), (own, run.user_id, run.up_to)):
            batch = jobs.next_batch(
                connection, some, alone=self._alone, stages=self._stages, user_id=user_id, up_to=up_to
            )
            if batch:
                return batch
        while ahead:
            batch = ahead.popleft()
            if batch[0].kind in sizes and jobs.all_queued(connection, batch):
                return batch
        if run.whole and run.up_to is not None:
            for kind in (kind for kind in sizes if kind not in uncut):
                ahead.extend(jobs.whole_batches(connection, kind, sizes[kind], up_to=run.up_to))
        return ahead.popleft() if ahead else []

    def _next_of_lanes(self, batch: Sequence[Job], run: _Run, ahead: Sequence[Sequence[Job]]) -> list[Sequence[Job]]:
        """What tells the next batch of each lane, for the kind of this one."""
        kind = batch[0].kind
        if run.whole:
            return [own for own in (batch, *ahead) if own[0].kind == kind]
        with self._database.read(user_or_all(run.user_id)) as connection:
            return list(jobs.next_of_lanes(connection, kind, run.sizes[kind], user_id=run.user_id, up_to=run.up_to))

    def _failed(self, batch: Sequence[Job], error: Exception, epoch: int, *, counted: bool) -> None:
        with self._database.write(ALL_USERS) as connection:
            text = f"{type(error).__name__}: {error}"
            if streams.version(connection, batch[0].user_id)[1] != epoch:  # what it quotes may be erased by now
                text = jobs.FORGOTTEN
            worker_health.note_error(connection, text, time.time_ns() // 1000)
            if counted:
                jobs.fail(connection, batch, text, max_attempts=self._max_attempts, alone=self._alone)

    @contextmanager
    def _renewing(self) -> Iterator[None]:
        """Push the lease ahead while a batch runs, however long its language work takes."""
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(self._lease_seconds / 3):
                try:
                    self._hold()
                except StoreBusyError:  # the batch itself is writing: there is time for another try
                    continue

        renewer = threading.Thread(target=renew, daemon=True)
        renewer.start()
        try:
            yield
        finally:
            ended.set()
            renewer.join()
