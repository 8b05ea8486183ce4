"""Runs the background jobs of a store: one worker at a time, batches in the order of what was said, failures kept and
visible."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from nscma_torch.errors import EngineUnavailableError, NscmaError, StoreBusyError
from nscma_torch.storage import jobs, streams
from nscma_torch.storage.database import Database
from nscma_torch.storage.jobs import Job


@dataclass(frozen=True, slots=True)
class Handler:
    """What works on one kind of job: `run` commits its results and finishes the jobs in one transaction.

    `separable` jobs depend on no other: a batch takes them from all lanes of a user, and where it fails they are tried
    one by one; those of other kinds make sense together only, lane by lane. Jobs of a `stage` wait until none of an
    earlier stage is queued. `language`: it asks the language tasks, which may be out of reach.
    """

    run: Callable[[Sequence[Job]], None]
    batch_size: int
    separable: bool = True
    stage: int = 0
    language: bool = False


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

    def closed(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Those of these kinds that are still worked on."""
        broken = self._silent > (self._most if self._answered else 0)
        return {kind: size for kind, size in sizes.items() if not (broken and kind in self._language)}


_LEASE = "worker"
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
        self._alone = frozenset(kind for kind, handler in handlers.items() if handler.separable)
        self._stages = {kind: handler.stage for kind, handler in handlers.items()}
        self._working = threading.Lock()
        self._recall_kind = recall_kind
        self._max_attempts = max_attempts
        self._lease_seconds = lease_seconds
        self._id = uuid.uuid4().hex

    def run_pending(self, *, timeout: float = 600.0, progress: Callable[[int], None] | None = None) -> int:
        """Count the recalls, then run jobs until none is queued; returns how many were run.

        Waits for another worker of this store, at most `timeout` seconds (`StoreBusyError`). A job that fails is
        recorded with its error and tried again until `max_attempts`. Where the language engine is out of reach it is
        not asked again in this run (`_Circuit`): the jobs that need it stay queued, those that asked with an attempt
        less.
        """
        with self._working:  # the lease keeps other processes out, not other threads
            return self._run_pending(time.monotonic() + timeout, timeout, progress)

    def _run_pending(self, give_up: float, timeout: float, progress: Callable[[int], None] | None) -> int:
        done, circuit = 0, _Circuit(self._handlers, self._max_attempts)
        while self._pending(circuit.closed(self._sizes)):
            if not self._hold():
                if time.monotonic() > give_up:
                    raise StoreBusyError(f"another worker has held the store for {timeout:.0f} s; try again later")
                time.sleep(_POLL)
                continue
            try:
                with self._database.write() as connection:
                    jobs.count_recalls(connection, self._recall_kind)
                done = self._work_off(self._sizes, circuit, done=done, progress=progress)
            finally:
                self._release()
        return done

    @property
    def _owner(self) -> str:
        """Who holds the lease; a forked child is somebody else."""
        return f"{socket.gethostname()} {os.getpid()} {self._id}"

    def settle(self, user_id: str, kinds: Collection[str], *, seconds: float) -> None:
        """Run one user's jobs of these kinds until none is queued, or for `seconds`: then no further batch is begun.

        A batch that has begun is finished. Another worker, in this process or another, is waited for within the limit.
        Recalls are left to `run_pending`.

        Raises:
            StoreError: the store cannot be written, or another process was writing all the time.
        """
        until = time.monotonic() + seconds
        if not self._working.acquire(timeout=seconds):
            return
        try:
            sizes = {kind: self._sizes[kind] for kind in kinds}
            circuit = _Circuit(self._handlers, self._max_attempts)
            while self._queued(user_id, circuit.closed(sizes)) and (left := until - time.monotonic()) > 0:
                if not self._hold(wait=left):
                    time.sleep(min(_POLL, left))
                    continue
                try:
                    self._work_off(sizes, circuit, user_id=user_id, until=until)
                finally:
                    self._release()
        finally:
            self._working.release()

    def _queued(self, user_id: str, kinds: Collection[str]) -> bool:
        with self._database.read() as connection:
            return jobs.queued(connection, user_id, kinds)

    def _pending(self, kinds: Collection[str]) -> bool:
        with self._database.read() as connection:
            return jobs.waiting(connection, kinds)

    def _hold(self, *, wait: float | None = None) -> bool:
        """Take the lease, or push it ahead; False while another worker has it. `wait` as in `Database.write`."""
        now = time.time_ns() // 1000
        until = now + int(self._lease_seconds * 1e6)
        with self._database.write(wait=wait) as connection:
            holder = jobs.lease_holder(connection, _LEASE)
            if holder is not None and _is_dead(holder):
                jobs.release_lease(connection, _LEASE, holder)
            return jobs.acquire_lease(connection, _LEASE, self._owner, now=now, until=until)

    def _release(self) -> None:
        with self._database.write() as connection:
            jobs.release_lease(connection, _LEASE, self._owner)

    def _work_off(
        self,
        sizes: Mapping[str, int],
        circuit: _Circuit,
        *,
        user_id: str | None = None,
        until: float = math.inf,
        done: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Run batches of these sizes, of one user or all, until there is none or the monotonic time `until`."""
        while time.monotonic() < until and self._hold():
            with self._database.read() as connection:
                batch = jobs.next_batch(
                    connection, circuit.closed(sizes), alone=self._alone, stages=self._stages, user_id=user_id
                )
                epoch = streams.version(connection, batch[0].user_id)[1] if batch else 0
            if not batch:
                break
            try:
                with self._renewing():
                    self._handlers[batch[0].kind].run(batch)
            except Exception as error:
                self._failed(batch, error, epoch)
                circuit.note(batch[0].kind, error)
                if not isinstance(error, NscmaError):  # a fault of the program's: not hidden, nor in the way for ever
                    raise
            else:
                circuit.note(batch[0].kind, None)
            done += len(batch)
            if progress is not None:
                progress(done)
        return done

    def _failed(self, batch: Sequence[Job], error: Exception, epoch: int) -> None:
        with self._database.write() as connection:
            text = f"{type(error).__name__}: {error}"
            if streams.version(connection, batch[0].user_id)[1] != epoch:  # what it quotes may be erased by now
                text = jobs.FORGOTTEN
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


def _is_dead(owner: str) -> bool:
    """Whether the process that holds the lease ran on this machine and has ended: nobody needs to wait for it."""
    host, pid, _ = owner.split()
    if host != socket.gethostname() or os.name != "posix":  # elsewhere signal 0 is no mere question
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it lives, under another account
        return False
    return False
