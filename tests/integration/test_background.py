"""The background worker: what is said is read beside the application, under leases, and failures are put off."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nscma_torch.background import BackgroundWorker
from nscma_torch.curator.sleep import Queued
from nscma_torch.errors import EngineUnavailableError, StoreAccessError
from nscma_torch.memory import Memory
from nscma_torch.records import Extraction, SleepReport, Unit
from nscma_torch.storage import leases, worker_health
from nscma_torch.storage.clock import to_micros
from nscma_torch.storage.database import ALL_USERS, get_meta
from nscma_torch.storage.worker_health import LEASE, Report
from nscma_torch.worker import LEASE as JOBS
from tests.helpers.noting import DEFERRED, NotedTasks, day, held, opener, say

Open = Callable[..., Memory]
QUICK: dict[str, Any] = {"poll": 0.02, "sleep_interval": 0.0, "backoff": 0.05, "max_backoff": 0.2, "batch_size": 4}
GONE = 60.0  # seconds after which a test gives up waiting


@pytest.fixture
def noted(open_memory: Open, light_proxy: Any) -> Open:
    open_ = opener(open_memory, light_proxy)

    def open_quick(name: str = "store.db", config: dict[str, Any] | None = None, **parts: Any) -> Memory:
        given = config or {}
        return open_(name, {**given, "worker": {**QUICK, **given.get("worker", {})}}, **parts)

    return open_quick


def comes(true: Callable[[], object]) -> bool:
    """Whether it becomes true in time."""
    give_up = time.monotonic() + GONE
    while time.monotonic() < give_up:
        if true():
            return True
        time.sleep(0.01)
    return False


def homes(memory: Memory, user: str = "ada") -> list[str]:
    return [fact.object for fact in memory.facts(user_id=user, relation="lives_in")]


def by_clock(memory: Memory, clock: list[datetime]) -> BackgroundWorker:
    """A worker, not started, by whose schedule it is what `clock` holds."""
    parts, section = memory.components, memory.config.worker
    return BackgroundWorker(
        parts.database, lambda: parts.worker, lambda: parts.sleeper, section, clock=lambda: clock[0]
    )


class Slow(NotedTasks):
    """Takes a while over each batch, and keeps what it was given in order."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.given: list[str] = []

    def extract(self, units: Sequence[Unit], **more: Any) -> list[Extraction]:
        self.given += [unit.text for unit in units]
        time.sleep(self.seconds)
        return super().extract(units, **more)


class Away(NotedTasks):
    """A language model that cannot be reached for its first calls."""

    def __init__(self, calls: int) -> None:
        self.left, self.at = calls, list[float]()

    def extract(self, units: Sequence[Unit], **more: Any) -> list[Extraction]:
        self.at.append(time.monotonic())
        if self.left:
            self.left -= 1
            raise EngineUnavailableError(f"no answer about {units[0].text}")
        return super().extract(units, **more)


def test_what_is_said_is_read_without_a_flush(noted: Open) -> None:
    with noted(background=True) as memory:
        say(memory, "{Ben|lives_in|Rome}")
        assert comes(lambda: homes(memory) == ["Rome"])
        say(memory, "{Ben|lives_in|Oslo}", 3)
        assert comes(lambda: homes(memory) == ["Oslo"])
        assert memory.verify() == []


def test_closing_ends_it_and_gives_its_leases_back(noted: Open) -> None:
    tasks = Slow(0.1)
    memory = noted(config={"worker": {"batch_size": 1}}, tasks=tasks, background=True)
    for i in range(30):
        say(memory, f"{{Ben|likes|thing {i}}}", i)
    assert comes(lambda: tasks.given)
    memory.close()
    memory.close()
    at_close = len(tasks.given)
    time.sleep(0.2)
    assert len(tasks.given) == at_close
    again = noted()
    assert again.stats().jobs_queued, "the batch at work was waited for, not the queue"
    assert again.stats().worker is None
    with again.components.database.read(ALL_USERS) as connection:
        assert leases.holder(connection, LEASE) is None and leases.holder(connection, JOBS) is None
    again.flush()
    assert len(held(again)) == 30


def test_a_memory_that_is_let_go_ends_its_worker(noted: Open, light_proxy: Any, embedder: Any, tmp_path: Any) -> None:
    config = {"device": "cpu", "embedder": {"model": "hash"}, "worker": QUICK}
    parts = {"proxy": light_proxy, "embedder": embedder, "tasks": NotedTasks()}
    memory = Memory(tmp_path / "store.db", config=config, background=True, **parts)
    look = noted()
    assert comes(lambda: look.stats().worker is not None)
    del memory
    assert comes(lambda: look.stats().worker is None)


def test_two_on_one_store_never_work_at_once_and_the_second_takes_over(noted: Open) -> None:
    first_tasks, second_tasks = Slow(0.01), Slow(0.01)
    first = noted(tasks=first_tasks, background=True)
    assert comes(lambda: first.stats().worker)
    second = noted(tasks=second_tasks, background=True)
    for i in range(12):
        say(first, f"{{Ben|likes|thing {i}}}", i)
    assert comes(lambda: not first.stats().jobs_queued)
    assert not second_tasks.given and sorted(first_tasks.given) == sorted(f"{{Ben|likes|thing {i}}}" for i in range(12))
    first.close()
    say(second, "{Ben|lives_in|Rome}", 20)
    assert comes(lambda: homes(second) == ["Rome"]) and second_tasks.given == ["{Ben|lives_in|Rome}"]
    second.close()


@pytest.mark.parametrize("lease", [LEASE, JOBS])
def test_the_lease_of_one_that_was_suspended_expires(lease: str, noted: Open) -> None:
    memory = noted()
    say(memory, "{Ben|lives_in|Rome}")
    now = time.time_ns() // 1000
    with memory.components.database.write(ALL_USERS) as connection:
        leases.acquire(connection, lease, "another-machine 1 x", now=now, until=now + 400_000)
    begin = time.monotonic()
    with noted(background=True) as beside:
        assert comes(lambda: homes(beside) == ["Rome"])
        assert time.monotonic() - begin > 0.3, "not before the lease had expired"


def test_the_lease_of_a_dead_process_is_free_at_once(noted: Open) -> None:
    memory = noted()
    ended = subprocess.Popen(["true"])
    ended.wait()
    say(memory, "{Ben|lives_in|Rome}")
    with memory.components.database.write(ALL_USERS) as connection:
        for lease in (LEASE, JOBS):
            leases.acquire(connection, lease, f"{socket.gethostname()} {ended.pid} x", now=0, until=2**62)
    with noted(background=True) as beside:
        assert comes(lambda: homes(beside) == ["Rome"])


def test_one_that_lost_its_lease_lets_the_other_work(noted: Open) -> None:
    """As after a suspension: the other has the lease, and the first must notice by itself."""
    tasks = Slow(0.0)
    memory = noted(config={"worker": {"lease": 0.3}}, tasks=tasks)
    beside = memory.components.background()
    beside.start()
    assert comes(lambda: memory.stats().worker)
    other = "another-machine 1 x"
    with memory.components.database.write(ALL_USERS) as connection:
        leases.release(connection, LEASE, leases.holder(connection, LEASE) or "")
        leases.acquire(connection, LEASE, other, now=0, until=2**62)
        worker_health.report(connection, Report(other, time.time_ns() // 1000, "idle"))
    assert comes(beside._lost.is_set)
    say(memory, "{Ben|lives_in|Rome}")
    time.sleep(0.2)
    health = memory.stats().worker
    assert tasks.given == [] and health is not None and health.owner == other, "the report is the other's"
    with memory.components.database.write(ALL_USERS) as connection:
        leases.release(connection, LEASE, other)
    assert comes(lambda: homes(memory) == ["Rome"])
    beside.stop()


def test_health_says_who_works_and_since_when_he_was_silent(noted: Open) -> None:
    with noted(config={"worker": {"lease": 3.0}}, background=True) as memory:
        assert comes(lambda: memory.stats().worker)
        health = memory.stats(user_id="nobody").worker
        assert health is not None and health.alive and health.owner.split()[1] == str(os.getpid())
        assert abs(health.heartbeat - datetime.now(UTC)) < timedelta(seconds=5)
        assert comes(lambda: (now := memory.stats().worker) and now.heartbeat > health.heartbeat), "it beats while idle"
        assert (health.error, health.slept_at) == (None, None)
    assert noted().stats().worker is None


def test_one_that_ended_without_a_word_is_told(noted: Open) -> None:
    memory = noted(config={"worker": {"lease": 0.2}})
    beside = memory.components.background()
    assert beside._beat()
    health = memory.stats().worker
    assert health is not None and health.alive
    time.sleep(0.3)
    health = memory.stats().worker
    assert health is not None and not health.alive


def test_an_outage_is_waited_for_longer_and_longer_and_costs_no_job(noted: Open) -> None:
    tasks, told = Away(5), list[str]()
    with noted(config={"worker": {"max_attempts": 2}}, tasks=tasks) as memory:
        beside = memory.components.background(notify=told.append)
        beside.start()
        say(memory, "{Ben|lives_in|Rome}")
        assert comes(lambda: homes(memory) == ["Rome"])
        lengths = (0.05, 0.1, 0.2, 0.2, 0.2)
        assert told[1:] == [f"resting for {length:g} s after a failure" for length in lengths]
        rests = [after - before for before, after in zip(tasks.at[:5], tasks.at[1:6], strict=True)]
        assert all(rest >= length for rest, length in zip(rests, lengths, strict=True)), rests
        stats = memory.stats()
        assert (stats.jobs_failed, stats.failures) == (0, ())
        assert stats.worker is not None and stats.worker.error is not None and "no answer" in stats.worker.error
        own = memory.stats(user_id="ada").worker
        assert own is not None and own.error is None, "it may quote another user"
        beside.stop()


def test_an_error_is_erased_with_what_it_may_quote(noted: Open) -> None:
    tasks = Away(10**6)
    with noted(tasks=tasks, background=True) as memory:
        said = say(memory, "{Ben|lives_in|Rome} and a pomegranate")
        assert comes(lambda: (health := memory.stats().worker) and health.error)
        tasks.left = 0
        assert comes(lambda: homes(memory) == ["Rome"])
        memory.erase(user_id="ada", memory_id=said.id)
        health = memory.stats().worker
        assert health is not None and health.error is None
        files = [path.read_bytes() for path in memory.components.database.files()]
    assert files and not any(b"pomegranate" in held_bytes for held_bytes in files)


def test_a_message_that_cannot_be_read_fails_alone(noted: Open) -> None:
    tasks = NotedTasks()
    tasks.broken = "poison"
    with noted(tasks=tasks, background=True) as memory:
        for i, text in enumerate(("{Ben|likes|tea}", "poison {Ben|likes|beer}", "{Ben|likes|milk}")):
            say(memory, text, i)
        assert comes(lambda: memory.stats().jobs_failed == 1 and not memory.stats().jobs_queued)
        assert sorted(fact.object for fact in memory.facts(user_id="ada")) == ["milk", "tea"]


def test_a_fault_of_the_programs_is_shown_and_stops_nobody(noted: Open) -> None:
    class Faulty(NotedTasks):
        def extract(self, units: Sequence[Unit], **more: Any) -> list[Extraction]:
            if any("poison" in unit.text for unit in units):
                raise KeyError("a slip in the program")
            return super().extract(units, **more)

    with noted(tasks=Faulty(), background=True) as memory:
        say(memory, "poison")
        assert comes(lambda: memory.stats().jobs_failed == 1)
        assert "a slip in the program" in memory.stats().failures[0]
        say(memory, "{Ben|lives_in|Rome}")
        assert comes(lambda: homes(memory) == ["Rome"])


def test_a_store_that_is_gone_ends_it_with_an_error(noted: Open) -> None:
    memory = noted(config={"worker": {"lease": 0.1}})
    beside = memory.components.background()
    beside.start()
    assert comes(lambda: memory.stats().worker)
    store = memory.components.database.path
    store.rename(store.with_name("moved.db"))
    assert beside.wait(GONE) and isinstance(beside.error, StoreAccessError)
    beside.stop()


def test_a_question_comes_before_another_users_backlog(noted: Open) -> None:
    tasks = Slow(0.15)
    with noted(config={"worker": {"batch_size": 1}, "retrieval": {"settle_seconds": 30.0}}, tasks=tasks) as memory:
        for i in range(30):
            say(memory, f"{{Ben|likes|thing {i}}}", i, user_id="eve")
        say(memory, "{Ben|lives_in|Rome}")
        with noted(config={"worker": {"batch_size": 1}}, tasks=tasks, background=True):
            assert comes(lambda: tasks.given)
            answer = memory.ask("Where does Ben live?", user_id="ada", now=day(40))
            assert (answer.text, answer.notes) == ("Rome", ())
            assert memory.stats(user_id="eve").jobs_queued > 10, "the backlog of the other was not waited for"
            with memory.components.database.read(ALL_USERS) as connection:
                assert leases.asking(connection, now=0) == [], "nobody waits any more"


def test_a_question_says_what_is_pending_when_its_time_is_up(noted: Open) -> None:
    tasks = Slow(0.6)
    config = {"worker": {"batch_size": 1}, "retrieval": {"settle_seconds": 0.2}}
    with noted(config=config, tasks=tasks, background=True) as memory:
        say(memory, "{Ben|lives_in|Rome}")
        memory.flush()
        say(memory, "{Ben|lives_in|Oslo}", 5)
        say(memory, "{Ben|lives_in|Bern}", 6)
        answer = memory.ask("Where does Ben live?", user_id="ada", now=day(40))
        assert answer.text == "Rome"
        assert answer.notes[0] in ("1 message not yet read", "2 messages not yet read")
        assert comes(lambda: not memory.stats().jobs_queued)
        assert memory.ask("Where does Ben live?", user_id="ada", now=day(40)).text == "Bern"


def test_a_killed_question_is_waited_for_no_longer_than_it_said(noted: Open) -> None:
    memory = noted()
    with memory.components.database.write(ALL_USERS) as connection:
        leases.ask_for(connection, "ada", "host 1 x", until=100)
        assert leases.asking(connection, now=99) == ["ada"] and leases.asking(connection, now=100) == []
        leases.ask_for(connection, "ada", "host 1 y", until=200)
        leases.asked(connection, "ada", "host 1 x")
        assert leases.asking(connection, now=99) == ["ada"], "another question of the same user still waits"
    say(memory, "{Ben|lives_in|Rome}")
    memory.erase(user_id="ada")
    with memory.components.database.read(ALL_USERS) as connection:
        assert leases.asking(connection, now=0) == []


@pytest.mark.parametrize("integration", ["whole", "everything"])
def test_whole_batches_leave_the_digest_as_it_is_without_a_worker(
    integration: str, open_memory: Open, light_proxy: Any, conversation: Any
) -> None:
    """Some messages are deferred: its sleep reads them before it cuts the batches that they belong to."""
    messages = conversation(45, long=False)
    digests = []
    for name, beside in (("beside.db", True), ("plain.db", False)):
        config = {
            "hierarchy": {"batch_size": 8},
            "reading": {"model": "none", "facts": "none"},
            "worker": {**QUICK, "sleep_interval": 1.0, "integration": integration},
        }
        memory = open_memory(name, config, proxy=light_proxy)
        clock = [day(400)]
        worker = by_clock(memory, clock)
        for i, message in enumerate(messages):
            memory.add([message], user_id="ada", now=day(300))
            if beside and i % 9 in (0, 4):
                clock[0] += timedelta(seconds=0.6)
                assert worker._round()
        if beside:
            assert memory.stats().units.get("summary") and memory.stats().deferred
        memory.sleep(user_id="ada", now=day(401))
        digests.append(memory.digest())
        assert memory.verify() == []
    assert (digests[0] == digests[1]) == (integration == "whole")


def test_it_sleeps_by_its_schedule_across_restarts(noted: Open) -> None:
    memory = noted(config={**DEFERRED, "worker": {"sleep_interval": 3600.0}})
    say(memory, "{Ben|lives_in|Rome}")
    clock = [day(1)]

    def rounds(*hours: float) -> list[bool]:
        """Whether the deferred message was read after each of these hours, each time by another worker."""
        read = []
        for hour in hours:
            clock[0] = day(1) + timedelta(hours=hour)
            assert by_clock(memory, clock)._round()
            read.append(homes(memory) == ["Rome"])
        return read

    assert rounds(0, 0.5, 0.9, 1.1) == [False, False, False, True]
    with memory.components.database.read(ALL_USERS) as connection:
        assert worker_health.slept_at(connection) == to_micros(clock[0])


@pytest.mark.parametrize("what", ["stop", "erase"])
def test_a_sleep_goes_user_by_user_once_all_jobs_were_run(what: str, noted: Open) -> None:
    """Told to stop, it ends after the user at hand and is due again; a user who was erased meanwhile is passed over."""
    memory = noted(config={**DEFERRED, "worker": {"sleep_interval": 3600.0}})
    users, parts = ["ada", "bob", "eve"], memory.components
    for user in users:
        say(memory, "{Ben|lives_in|Rome}", user_id=user)
    maintained: list[str] = []

    class Watched:
        def queue(self, sleepers: Sequence[str], now: datetime) -> Queued:
            return parts.sleeper.queue(sleepers, now)

        def maintain(self, queued: Queued, now: datetime) -> SleepReport:
            assert what == "erase" or [homes(memory, user) for user in users] == [["Rome"]] * 3, "read before"
            maintained.extend(queued.sleepers)
            report = parts.sleeper.maintain(queued, now)
            if maintained == ["ada"]:
                worker._stopping.set() if what == "stop" else memory.erase(user_id="bob")
            return report

    clock = [day(1)]
    worker = by_clock(memory, clock)
    worker._sleeper = Watched  # type: ignore[assignment]
    assert worker._round()
    clock[0] += timedelta(hours=2)
    assert worker._round() == (what == "erase")
    assert maintained == (["ada"] if what == "stop" else users)
    with parts.database.read(ALL_USERS) as connection:
        assert worker_health.slept_at(connection) == to_micros(clock[0] if what == "erase" else day(1))
    assert memory.verify() == [] and memory.stats().jobs_failed == 0
    assert homes(memory, "eve") == ["Rome"] and (homes(memory, "bob") == []) == (what == "erase")


@pytest.mark.parametrize("erased", [False, True])
def test_a_failure_of_a_sleep_is_kept_unless_what_it_quotes_is_erased_meanwhile(erased: bool, noted: Open) -> None:
    memory = noted(config={"worker": {"sleep_interval": 3600.0}})
    said, database = say(memory, "a pomegranate"), memory.components.database

    class Failing:
        def queue(self, sleepers: Sequence[str], _now: datetime) -> Queued:
            return Queued(tuple(sleepers), Counter(), 0)

        def maintain(self, queued: Queued, _now: datetime) -> SleepReport:
            if erased:
                memory.erase(user_id="ada", memory_id=said.id)
            return SleepReport(queued.sleepers, failures=("ModelError: no answer about a pomegranate",))

    clock = [day(1)]
    worker = by_clock(memory, clock)
    worker._sleeper = Failing  # type: ignore[assignment]
    for _ in range(2):
        assert worker._round()
        clock[0] += timedelta(hours=2)
    with database.read(ALL_USERS) as connection:
        assert (not get_meta(connection, "worker error")) == erased
