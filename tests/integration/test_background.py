"""The background worker: what is said is read beside the application, under leases, and failures are put off."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from nscma_torch.api.background import BackgroundWorker
from nscma_torch.api.memory import Memory
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import ALL_USERS, ONE_BY_ONE
from nscma_torch.core.database.schema import user_leases, work_errors
from nscma_torch.core.errors import EngineUnavailableError, StoreAccessError
from nscma_torch.core.jobs import leases, user_shares, worker_health
from nscma_torch.core.jobs.leases import JOBS
from nscma_torch.core.jobs.worker_health import Report
from nscma_torch.core.records import Extraction, SleepReport, Unit, WorkerHealth
from nscma_torch.curator.sleep import Queued
from tests.helpers.noting import DEFERRED, NotedTasks, day, held, opener, say

Open = Callable[..., Memory]
QUICK: dict[str, Any] = {"poll": 0.02, "sleep_interval": 0.0, "backoff": 0.05, "max_backoff": 0.2, "batch_size": 4}
GONE = 60.0  # seconds after which a test gives up waiting


@pytest.fixture
def noted(open_memory: Open, light_surprise: Any) -> Open:
    open_ = opener(open_memory, light_surprise)

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


def only(memory: Memory, user: str | None = None) -> WorkerHealth | None:
    """The background worker of the store, where one runs."""
    workers = memory.stats(user_id=user).workers
    assert len(workers) < 2
    return workers[0] if workers else None


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
    assert again.stats().workers == ()
    with again.components.database.read(ALL_USERS) as connection:
        assert leases.holders(connection, JOBS, now=0) == []
    again.flush()
    assert len(held(again)) == 30


def test_a_memory_that_is_let_go_ends_its_worker(
    noted: Open, light_surprise: Any, embedder: Any, tmp_path: Any
) -> None:
    config = {"device": "cpu", "embedder": {"model": "hash"}, "worker": QUICK}
    parts = {"surprise_model": light_surprise, "embedder": embedder, "tasks": NotedTasks()}
    memory = Memory(tmp_path / "store.db", config=config, background=True, **parts)
    look = noted()
    assert comes(lambda: look.stats().workers)
    del memory
    assert comes(lambda: not look.stats().workers)


def test_two_on_one_store_share_its_users_and_each_message_is_read_once(noted: Open) -> None:
    users = [f"user {number}" for number in range(8)]
    tasks = {name: Slow(0.01) for name in ("first", "second")}
    first, second = (noted(tasks=own, background=True) for own in tasks.values())
    assert comes(lambda: len(first.stats().workers) == 2)
    said = {user: [f"{{Ben|likes|thing {i} of {user}}}" for i in range(4)] for user in users}
    for i in range(4):
        for user in users:
            say(first, said[user][i], i, user_id=user)
    assert comes(lambda: not first.stats().jobs_queued)
    given = [*tasks["first"].given, *tasks["second"].given]
    assert sorted(given) == sorted(text for own in said.values() for text in own)
    owners = [worker.owner for worker in first.stats().workers]
    of_first = first.components.worker._owner.split()[1]
    assert {owner.split()[1] for owner in owners} == {of_first}, "both are of this process"
    for user in users:
        read_by = {name for name, own in tasks.items() if set(own.given) & set(said[user])}
        assert len(read_by) == 1, "whose it is, reads it"
    assert tasks["first"].given and tasks["second"].given
    first.close()
    say(second, "{Ben|lives_in|Rome}", 20, user_id=users[0])
    say(second, "{Ben|lives_in|Rome}", 20, user_id=users[1])
    assert comes(lambda: homes(second, users[0]) == homes(second, users[1]) == ["Rome"])
    second.close()


def test_a_user_whose_own_worker_does_not_come_is_taken_by_another(
    noted: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_shares, "_PATIENCE", 0.3)
    memory = noted()
    now = time.time_ns() // 1000
    with memory.components.database.write(ONE_BY_ONE) as connection:  # one that lives, and does nothing
        worker_health.report(connection, Report("another-machine 1 x", now, 2**62, "idle"))
    for number in range(8):
        say(memory, "{Ben|lives_in|Rome}", user_id=f"user {number}")
    with noted(background=True) as beside:
        assert comes(lambda: all(homes(beside, f"user {number}") == ["Rome"] for number in range(8)))


def test_one_that_lost_a_user_while_it_was_suspended_leaves_him_to_the_other(noted: Open) -> None:
    """The other has the lease when it wakes: it begins no further batch of that user."""
    tasks = Slow(0.0)
    other = "another-machine 1 x"

    def taken(units: Sequence[Unit], **more: Any) -> list[Extraction]:
        with memory.components.database.write(ONE_BY_ONE) as connection:
            leases.release(connection, JOBS, memory.components.worker._owner)
            leases.claim(connection, JOBS, ["ada"], other, now=0, until=leases.now(connection) + 60_000_000)
        return Slow.extract(tasks, units, **more)

    tasks.extract = taken  # type: ignore[method-assign]
    memory = noted(config={"worker": {"batch_size": 1}}, tasks=tasks)
    for i in range(3):
        say(memory, f"{{Ben|likes|thing {i}}}", i)
    assert memory.components.worker.read(lambda: True)
    assert len(tasks.given) == 1
    with memory.components.database.write(ONE_BY_ONE) as connection:
        assert leases.holder(connection, JOBS, "ada") == other, "it gives back what is its own alone"
        leases.release(connection, JOBS, other)
    del tasks.extract  # type: ignore[attr-defined]
    memory.flush()
    assert len(held(memory)) == 3 and memory.verify() == []


def test_health_says_who_works_and_since_when_he_was_silent(noted: Open) -> None:
    with noted(config={"worker": {"lease": 3.0}}, background=True) as memory:
        assert comes(lambda: only(memory))
        health = only(memory, "nobody")
        assert health is not None and health.alive and health.owner.split()[1] == str(os.getpid())
        assert abs(health.heartbeat - datetime.now(UTC)) < timedelta(seconds=5)
        assert comes(lambda: (now := only(memory)) and now.heartbeat > health.heartbeat), "it beats while idle"
        assert (health.error, health.slept_at) == (None, None)
    assert noted().stats().workers == ()


def test_one_that_ended_without_a_word_is_told(noted: Open) -> None:
    memory = noted(config={"worker": {"lease": 0.2}})
    beside = memory.components.background()
    beside._beat()
    health = only(memory)
    assert health is not None and health.alive
    time.sleep(0.3)
    health = only(memory)
    assert health is not None and not health.alive


def test_an_outage_is_waited_for_longer_and_longer_and_costs_no_job(noted: Open) -> None:
    tasks, told = Away(5), list[str]()
    with noted(config={"worker": {"max_attempts": 2}}, tasks=tasks) as memory:
        beside = memory.components.background(notify=told.append)
        beside.start()
        say(memory, "{Ben|lives_in|Rome}")
        assert comes(lambda: homes(memory) == ["Rome"])
        lengths = (0.05, 0.1, 0.2, 0.2, 0.2)
        assert told[1:] == [f"waiting {length:g} s after a failure" for length in lengths]
        rests = [after - before for before, after in zip(tasks.at[:5], tasks.at[1:6], strict=True)]
        assert all(rest >= length for rest, length in zip(rests, lengths, strict=True)), rests
        stats = memory.stats()
        assert (stats.jobs_failed, stats.failures) == (0, ())
        health, own = only(memory), only(memory, "ada")
        assert health is not None and health.error is not None and "no answer" in health.error
        assert own is not None and own.error is None, "it may quote another user"
        beside.stop()


def test_an_error_is_erased_with_what_it_may_quote(noted: Open) -> None:
    tasks = Away(10**6)
    with noted(tasks=tasks, background=True) as memory:
        said = say(memory, "{Ben|lives_in|Rome} and a pomegranate")
        assert comes(lambda: (health := only(memory)) and health.error)
        tasks.left = 0
        assert comes(lambda: homes(memory) == ["Rome"])
        memory.erase(user_id="ada", memory_id=said.id)
        health = only(memory)
        assert health is not None and health.error is None
        files = [path.read_bytes() for path in memory.components.database.files()]
    assert files and not any(b"pomegranate" in held_bytes for held_bytes in files)


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
    assert comes(lambda: only(memory))
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
            assert tasks.given.index("{Ben|lives_in|Rome}") < 20, "the backlog of the other was not waited for"
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
    say(memory, "{Ben|lives_in|Oslo}")
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
    integration: str, open_memory: Open, light_surprise: Any, conversation: Any
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
        memory = open_memory(name, config, surprise_model=light_surprise)
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


def test_a_wrong_clock_neither_sleeps_nor_stops_the_schedule(noted: Open) -> None:
    memory = noted(config={**DEFERRED, "worker": {"sleep_interval": 3600.0}})
    say(memory, "{Ben|lives_in|Rome}")
    clock, told = [day(1)], list[str]()
    worker = by_clock(memory, clock)
    worker._notify = told.append
    assert worker._round()
    clock[0] = day(29_000)
    assert worker._round() and homes(memory) == []
    assert [line[:18] for line in told] == ["no scheduled sleep"]
    with memory.components.database.write(ALL_USERS) as connection:  # as an earlier version left it
        worker_health.note_sleep(connection, to_micros(clock[0]))
        connection.execute(user_leases.update().values(done_at=to_micros(clock[0])))
    clock[0] = day(2)
    assert by_clock(memory, clock)._round() and homes(memory) == ["Rome"]


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
    assert maintained == (["ada"] if what == "stop" else ["ada", "eve"])
    with parts.database.read(ALL_USERS) as connection:
        assert worker_health.slept_at(connection) == to_micros(clock[0] if what == "erase" else day(1))
    assert memory.verify() == [] and memory.stats().jobs_failed == 0
    assert homes(memory, "eve") == ["Rome"] and (homes(memory, "bob") == []) == (what == "erase")
    if what == "stop":  # the next one goes on where this one ended
        worker._sign_off()
        again = by_clock(memory, clock)
        again._sleeper = Watched  # type: ignore[assignment]
        assert again._round() and maintained == users
        with parts.database.read(ALL_USERS) as connection:
            assert worker_health.slept_at(connection) == to_micros(clock[0])


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
        found = connection.execute(select(work_errors.c.error)).scalars().all()
    assert found == ([] if erased else ["ModelError: no answer about a pomegranate"])
