"""Background worker (layer 4): processes new messages, derives facts and runs scheduled sleep until stopped.

Any number of background workers may run on a store. Each sends heartbeats, from which all of them determine which
worker takes which users (`user_shares`). A user's jobs are guarded by `Worker`'s leases, which are held only during
work, so that an application's `flush` and `sleep` also get a turn; a user's scheduled sleep has a separate lease. If a
worker is killed, its work is either done or still queued, and the other workers take it over once the leases expire.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from functools import cached_property

from sqlalchemy import Select

from nscma_torch.core.config import WorkerConfig
from nscma_torch.core.database import user_versions
from nscma_torch.core.database.clock import from_micros, to_micros
from nscma_torch.core.database.database import ALL_USERS, NO_USER, ONE_BY_ONE, Database
from nscma_torch.core.errors import NscmaError, StoreBusyError, StoreError, StoreFullError, TimestampError
from nscma_torch.core.jobs import leases, worker_health
from nscma_torch.core.jobs.leases import SLEEP
from nscma_torch.core.jobs.user_shares import UserShare
from nscma_torch.core.jobs.worker import Around, Worker
from nscma_torch.core.jobs.worker_health import Report
from nscma_torch.curator.sleep import Queued, Sleeper, check_clock
from nscma_torch.episodic.log import episodes

_WRONG_CLOCK = 60.0  # seconds between two looks at a clock that is wrong
_LOOK = 1.0  # seconds between two checks for users whose scheduled sleep other workers run
_PASSING = (StoreBusyError, StoreFullError)  # waiting may help


class BackgroundWorker:
    """Runs background work on a store in a separate thread.

    Args:
        worker, sleeper: functions that return the worker and the sleeper; called in that thread.
        queue_recalls: queues the recalls from this process's searches, before they are counted.
        notify: called with log lines, one per event.
        clock: the clock for the schedule and for sleep.
        around: returns a context in which each scheduled sleep runs, with the number of its users.

    Attributes:
        error: the exception that ended the thread; None after `stop`.
    """

    def __init__(
        self,
        database: Database,
        worker: Callable[[], Worker],
        sleeper: Callable[[], Sleeper],
        settings: WorkerConfig,
        *,
        queue_recalls: Callable[[], None] = lambda: None,
        notify: Callable[[str], None] = lambda _: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        around: Around = lambda *_: nullcontext(),
    ) -> None:
        self.error: Exception | None = None
        self._database = database
        self._worker = worker
        self._sleeper = sleeper
        self._settings = settings
        self._queue_recalls = queue_recalls
        self._notify = notify
        self._clock = clock
        self._around = around
        self._number = leases.new_number()
        self._state = "idle"
        self._rest = 0.0  # seconds of the rest after the last failure
        self._look = 0.0  # time.monotonic() before which there is nothing to sleep for
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nscma worker", daemon=True)
        self._beating = threading.Thread()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the current batch, release the leases and stop; queued work stays queued."""
        self._stopping.set()
        own = threading.current_thread() in (self._thread, self._beating)  # where a collection calls it
        if self._thread.is_alive() and not own:
            self._thread.join()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for the thread to end; return True if it has."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            with self._database.write(ONE_BY_ONE) as connection:
                worker_health.forget_dead(connection, now=leases.now(connection))
            self._beat()
            self._serve()
        except Exception as error:
            self.error = error
            with suppress(StoreError), self._database.write(ONE_BY_ONE) as connection:
                text = f"{type(error).__name__}: {error}"
                worker_health.note_error(connection, None, text, leases.now(connection))
            if not isinstance(error, NscmaError):
                raise  # a fault of the program's: its traceback is shown

    def _serve(self) -> None:
        """Work until stopped."""
        self._notify(f"working on {self._database.name}")
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
            self._sign_off()

    def _round(self) -> bool:
        """Process the queue, then sleep if due; return False if there was nothing to do."""
        self._queue_recalls()
        self._state = "reading"
        goes_on = self._goes_on
        sound = self._worker().read(lambda: goes_on() and not self._is_due(), share=self._readers)  # delays no sleep
        if sound and goes_on() and self._is_due():
            sound = self._sleep()
        self._state = "idle"
        return sound

    @property
    def _owner(self) -> str:
        """Return this worker's name; a forked child gets another name."""
        return leases.owner_name(self._number)

    def _share(self) -> UserShare:
        return UserShare(self._owner, self._living, most=self._settings.users)

    @cached_property
    def _readers(self) -> UserShare:
        """Return this worker's share of the users for running jobs."""
        return self._share()

    @cached_property
    def _sleepers(self) -> UserShare:
        """Return this worker's share of the users for scheduled sleep."""
        return self._share()

    def _living(self) -> list[str]:
        with self._database.read(NO_USER) as connection:
            return worker_health.living(connection, now=leases.now(connection))

    def _is_due(self) -> bool:
        if not self._settings.sleep_interval or time.monotonic() < self._look:
            return False
        now = to_micros(self._clock())
        with self._database.read(NO_USER) as connection:
            slept, begun = worker_health.slept_at(connection), worker_health.sleeps_for(connection)
        if begun is None and slept is None:  # the first sleep comes an interval after the first start
            with self._database.write(NO_USER) as connection:
                worker_health.note_sleep(connection, now)
            return False
        ahead = slept is None or slept > now + leases.DAY  # it was by a wrong clock
        due = begun is not None or ahead or now - (slept or 0) >= self._settings.sleep_interval * 1e6
        return due and self._clock_is_right()

    def _clock_is_right(self) -> bool:
        """Return True if the clock is right; otherwise report it and check again later."""
        try:
            with self._database.read(ALL_USERS) as connection:
                check_clock(connection, self._clock())
        except TimestampError as error:
            self._notify(f"no scheduled sleep: {error}")
            self._look = time.monotonic() + _WRONG_CLOCK
            return False
        return True

    def _sleep(self) -> bool:
        """Run this worker's part of a scheduled sleep for all users; return False if interrupted, in which case it
        remains due.

        The result depends only on the time at which the sleep began, not on the worker that runs it.
        """
        with self._database.write(NO_USER) as connection:
            at = worker_health.begin_sleep(connection, to_micros(self._clock()))
        while users := self._fall_asleep(at):
            try:
                with self._around("sleep", len(users)):
                    whole = self._sleep_for(users, at)
                if not whole:
                    return False
            finally:
                with self._database.write(ONE_BY_ONE) as connection:
                    leases.release(connection, SLEEP, self._owner)
            self._notify(f"slept: {len(users)} users")
        self._look = time.monotonic() + _LOOK
        with self._database.read(ALL_USERS) as connection:
            left = connection.execute(self._awake(at)).first() is not None
        if not left:
            with self._database.write(NO_USER) as connection:
                if worker_health.sleeps_for(connection) == at:
                    worker_health.note_sleep(connection, at)
        return True

    def _awake(self, at: int) -> Select[str]:
        """Select the users for whom the sleep at this time still has to run."""
        return leases.undone(SLEEP, before=at, now=to_micros(self._clock()))

    def _fall_asleep(self, at: int) -> list[str]:
        """Claim users for whom sleep still has to run and whom no other worker has claimed."""
        if not self._goes_on():
            return []
        with self._database.read(ALL_USERS) as connection:
            free = leases.free(connection, SLEEP, self._awake(at), self._owner, now=leases.now(connection))
        chosen = self._sleepers.chosen(free)
        if not chosen:
            return []
        with self._database.write(ONE_BY_ONE) as connection:
            now, reach = leases.now(connection), leases.reach(self._settings.lease)
            return leases.claim(connection, SLEEP, chosen, self._owner, now=now, until=self._until(now), longest=reach)

    def _sleep_for(self, users: Sequence[str], at: int) -> bool:
        """Run one sleep for these users; return False if interrupted.

        The users' jobs run together, to share computation.
        """
        now = from_micros(at)
        with self._database.read(ALL_USERS) as connection:
            last = episodes.last_seq(connection)
        self._state = f"asleep, {len(users)} users"
        self._beat()
        sleeper, whole = self._sleeper(), self._settings.integration == "whole"
        queued = {user_id: sleeper.queue([user_id], now) for user_id in users if self._goes_on()}
        work = self._worker()
        if not (self._goes_on() and work.consolidate(self._goes_on, up_to=last, whole=whole, users=users)):
            return False
        for user_id in users:
            if not self._goes_on():
                return False
            with self._database.read(user_id) as connection:
                ours = leases.holder(connection, SLEEP, user_id) == self._owner
            if ours:  # else it was suspended for so long that another took over, or the user was erased
                self._maintain(user_id, queued[user_id], now)
                with self._database.write(ONE_BY_ONE) as connection:
                    leases.done(connection, SLEEP, user_id, self._owner, at=at)
        return True

    def _maintain(self, user_id: str, queued: Queued, now: datetime) -> None:
        with self._database.read(user_id) as connection:
            epoch = user_versions.version(connection, user_id)[1]
        for failure in self._sleeper().maintain(queued, now).failures:
            self._notify(f"sleep: {failure}")
            with self._database.write(user_id) as connection:
                if user_versions.version(connection, user_id)[1] == epoch:  # otherwise it may quote erased text
                    worker_health.note_error(connection, user_id, failure, leases.now(connection))

    def _goes_on(self) -> bool:
        return not self._stopping.is_set()

    def _back_off(self) -> None:
        """Wait after a failure, twice as long as the last time."""
        self._rest = min(max(2 * self._rest, self._settings.backoff), self._settings.max_backoff)
        if self._goes_on():
            self._state = f"waiting {self._rest:g} s after a failure"
            with suppress(*_PASSING):
                self._beat()
            self._notify(self._state)
            self._stopping.wait(self._rest)

    def _beat(self) -> None:
        """Send a heartbeat, and extend the leases for users whose sleep is running."""
        with self._database.write(ONE_BY_ONE) as connection:
            now = leases.now(connection)
            until = self._until(now)
            worker_health.report(connection, Report(self._owner, now, until, self._state))
            leases.renew(connection, SLEEP, self._owner, until=until)

    def _until(self, now: int) -> int:
        return now + int(self._settings.lease * 1e6)

    def _keep_beating(self, ended: threading.Event) -> None:
        while not ended.wait(self._settings.lease / 3):
            try:
                self._beat()
            except _PASSING:
                continue
            except StoreError as error:
                self.error = error
                self._stopping.set()
                return

    def _sign_off(self) -> None:
        """Send the last heartbeat, or remove the report if the worker was stopped."""
        with suppress(StoreError), self._database.write(ONE_BY_ONE) as connection:
            if self._stopping.is_set():
                worker_health.withdraw(connection, self._owner)
            else:
                now = leases.now(connection)
                worker_health.report(connection, Report(self._owner, now, now, self._state))
