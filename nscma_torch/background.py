"""Layer 4 beside an application: reads what is said, makes facts of it, and sleeps by a schedule, until it is stopped.

One background worker a store: it holds a lease for as long as it runs, and another one that is started waits, to take
over once that expires. The jobs are guarded by the lease of `Worker`, which it holds only while it works, so that
`flush` and `sleep` of an application find their turn. A kill at any time leaves work done, or queued.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from nscma_torch.config import Worker as WorkerSection
from nscma_torch.curator.sleep import Queued, Sleeper
from nscma_torch.errors import NscmaError, StoreBusyError, StoreError, StoreFullError
from nscma_torch.storage import episodes, leases, statistics, streams, worker_health
from nscma_torch.storage.clock import to_micros
from nscma_torch.storage.database import ALL_USERS, NO_USER, Database
from nscma_torch.storage.worker_health import LEASE, Report
from nscma_torch.worker import Worker

_PASSING = (StoreBusyError, StoreFullError)  # waiting may help


class BackgroundWorker:
    """Works on a store in a thread of its own.

    Args:
        worker, sleeper: give what does the work; called in that thread.
        queue_recalls: hands on what searches of this process have found, before it is counted.
        notify: told what happens, a line each, for a log.
        clock: the time of the schedule and of sleep.

    Attributes:
        error: what ended it, where that was no `stop`.
    """

    def __init__(
        self,
        database: Database,
        worker: Callable[[], Worker],
        sleeper: Callable[[], Sleeper],
        settings: WorkerSection,
        *,
        queue_recalls: Callable[[], None] = lambda: None,
        notify: Callable[[str], None] = lambda _: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.error: Exception | None = None
        self._database = database
        self._worker = worker
        self._sleeper = sleeper
        self._settings = settings
        self._queue_recalls = queue_recalls
        self._notify = notify
        self._clock = clock
        self._number = leases.new_number()
        self._state = "idle"
        self._rest = 0.0  # seconds of the rest after the last failure
        self._stopping = threading.Event()
        self._lost = threading.Event()  # the lease, to another worker
        self._thread = threading.Thread(target=self._run, name="nscma worker", daemon=True)
        self._beating = threading.Thread()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the batch that is at work, give the lease back and end; what is queued stays queued."""
        self._stopping.set()
        own = threading.current_thread() in (self._thread, self._beating)  # where a collection calls it
        if self._thread.is_alive() and not own:
            self._thread.join()

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, for at most so long; whether it has."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            waits = False
            while not self._stopping.is_set():
                if self._beat():
                    waits = False
                    self._serve()
                elif not waits:
                    waits = True
                    self._notify(f"another worker runs on {self._database.name}; this one takes over when it ends")
                self._stopping.wait(self._settings.poll)
        except Exception as error:
            self.error = error
            with suppress(StoreError), self._database.write(ALL_USERS) as connection:
                worker_health.note_error(connection, f"{type(error).__name__}: {error}", _now())
            if not isinstance(error, NscmaError):
                raise  # a fault of the program's: its traceback is shown

    def _serve(self) -> None:
        """Work until told to stop, or until the lease is lost."""
        self._notify(f"at work on {self._database.name}")
        self._lost.clear()
        ended = threading.Event()
        name = "nscma worker heartbeat"
        self._beating = threading.Thread(target=self._keep_beating, args=(ended,), name=name, daemon=True)
        self._beating.start()
        try:
            while self._goes_on():
                try:
                    sound = self._round()
                except _PASSING as error:
                    sound = False
                    self._notify(str(error))
                if sound:
                    self._rest = 0.0
                    self._stopping.wait(self._settings.poll)
                else:
                    self._back_off()
        finally:
            ended.set()
            self._beating.join()
            self._state = "stopped" if self._stopping.is_set() else "ended by an error"
            self._give_back()

    def _round(self) -> bool:
        """Work off the queue, then sleep if that is due; False where it should rest."""
        self._queue_recalls()
        self._state = "reading"
        sound = self._worker().read(lambda: self._goes_on() and not self._is_due())  # a long queue delays no sleep
        if sound and self._goes_on() and self._is_due():
            sound = self._sleep()
        self._state = "idle"
        return sound

    def _is_due(self) -> bool:
        if not self._settings.sleep_interval:
            return False
        now = to_micros(self._clock())
        with self._database.read(NO_USER) as connection:
            slept = worker_health.slept_at(connection)
        if slept is None:  # the first sleep comes an interval after the first start
            with self._database.write(NO_USER) as connection:
                worker_health.note_sleep(connection, now)
        return slept is not None and now - slept >= self._settings.sleep_interval * 1e6

    def _sleep(self) -> bool:
        """One sleep of every user; False where it was interrupted, and then it is due again.

        The jobs of all users are run together, so that what they have in common is computed at once.
        """
        now = self._clock()
        with self._database.read(ALL_USERS) as connection:
            users, last = statistics.users_of(connection), episodes.last_seq(connection)
        self._state = f"asleep, {len(users)} users"
        self._beat()
        sleeper, whole = self._sleeper(), self._settings.integration == "whole"
        queued = {user_id: sleeper.queue([user_id], now) for user_id in users if self._goes_on()}
        if not (self._goes_on() and self._worker().consolidate(self._goes_on, up_to=last, whole=whole)):
            return False
        for user_id in users:
            if not self._goes_on():
                return False
            self._maintain(user_id, queued[user_id], now)
        with self._database.write(NO_USER) as connection:
            worker_health.note_sleep(connection, to_micros(now))
        self._notify(f"slept: {len(users)} users")
        return True

    def _maintain(self, user_id: str, queued: Queued, now: datetime) -> None:
        with self._database.read(user_id) as connection:
            epoch = streams.version(connection, user_id)[1]
        for failure in self._sleeper().maintain(queued, now).failures:
            self._notify(f"sleep: {failure}")
            with self._database.write(ALL_USERS) as connection:
                if streams.version(connection, user_id)[1] == epoch:  # else what it quotes may be erased by now
                    worker_health.note_error(connection, failure, _now())

    def _goes_on(self) -> bool:
        return not (self._stopping.is_set() or self._lost.is_set())

    def _back_off(self) -> None:
        """Rest after a failure, twice as long as after the one before."""
        self._rest = min(max(2 * self._rest, self._settings.backoff), self._settings.max_backoff)
        if self._goes_on():
            self._state = f"resting for {self._rest:g} s after a failure"
            with suppress(*_PASSING):
                self._beat()
            self._notify(self._state)
            self._stopping.wait(self._rest)

    def _beat(self) -> bool:
        """Give a sign of life: push the lease ahead and write the report; False while another worker has the lease."""
        now = _now()
        owner = leases.owner_name(self._number)
        with self._database.write(NO_USER) as connection:
            until = now + int(self._settings.lease * 1e6)
            held = leases.take_over(connection, LEASE, owner, now=now, until=until)
            if held:
                worker_health.report(connection, Report(owner, now, self._state))
        return held

    def _keep_beating(self, ended: threading.Event) -> None:
        while not ended.wait(self._settings.lease / 3):
            try:
                held = self._beat()
            except _PASSING:
                continue
            except StoreError as error:
                self.error = error
                self._stopping.set()
                return
            if not held:
                self._lost.set()
                return

    def _give_back(self) -> None:
        """Release the lease; the report of a worker that was stopped goes too."""
        owner = leases.owner_name(self._number)
        with suppress(StoreError), self._database.write(NO_USER) as connection:
            if leases.holder(connection, LEASE) != owner:
                return
            leases.release(connection, LEASE, owner)
            if self._stopping.is_set():
                worker_health.withdraw(connection)
            else:
                worker_health.report(connection, Report(owner, _now(), self._state))


def _now() -> int:
    """Microseconds of the clock by which leases run."""
    return time.time_ns() // 1000
