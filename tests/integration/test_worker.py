"""Background jobs: leased, in the order they were said, retried, and never lost or silently failed."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS, ONE_BY_ONE
from nscma_torch.core.errors import (
    EngineUnavailableError,
    JobError,
    NscmaError,
    StoreBusyError,
    StoreClosedError,
    StoreFullError,
)
from nscma_torch.core.jobs import jobs, leases
from nscma_torch.core.jobs.leases import JOBS
from nscma_torch.core.records import Extraction, Message, Unit
from nscma_torch.reading.embedded_tasks import EmbeddedTasks

Open = Callable[..., Memory]
WRITE_ALL = {"gate": {"rule": "everything"}, "hierarchy": {"enabled": False}}
NOW = datetime(2024, 9, 1, tzinfo=UTC)
FACTS = [f"My sister number {i} was born in Kyoto in {1950 + i}." for i in range(9)]


@pytest.fixture
def open_memory(open_memory: Open) -> Open:
    """Memories whose gate writes everything, and whose jobs are extractions alone."""
    return lambda config=None, **parts: open_memory(
        config={**WRITE_ALL, **(config or {})}, **{"tasks": Tasks(), **parts}
    )


class Tasks(EmbeddedTasks):
    """Reads sentences and no statements, and records what it is asked.

    Fails on texts that hold `poison`, and calls `meanwhile` in the middle of its work.
    """

    error: type[NscmaError] = JobError

    def __init__(self, poison: str = "", meanwhile: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.poison = poison
        self.meanwhile = meanwhile
        self.batches: list[list[str]] = []

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        self.batches.append([unit.text for unit in units])
        if self.meanwhile is not None:
            happening, self.meanwhile = self.meanwhile, None
            happening()
        if self.poison and any(self.poison in unit.text for unit in units):
            raise self.error(f"the model's reply for {self.poison!r} does not parse")
        return [replace(own, statements=()) for own in super().extract(units, listeners=listeners, before=before)]


def facts(memory: Memory, user: str = "ada") -> list[str]:
    return [hit.text for hit in memory.search("sister born Kyoto", user_id=user, kinds=("atomic_fact",), top_k=99)]


def test_batches_are_cut_by_count_user_and_order(open_memory: Open) -> None:
    tasks = Tasks()
    memory = open_memory(config={"worker": {"batch_size": 4}}, tasks=tasks)
    for i, text in enumerate(FACTS):
        memory.add(text, user_id="ada" if i % 2 else "bob")
    seen: list[int] = []
    assert memory.flush(progress=seen.append) == len(FACTS)
    assert tasks.batches == [[FACTS[i] for i in (0, 2, 4, 6)], [FACTS[8]], [FACTS[i] for i in (1, 3, 5, 7)]] or (
        [text for batch in tasks.batches for text in batch if text in FACTS[1::2]] == FACTS[1::2]
        and [text for batch in tasks.batches for text in batch if text in FACTS[::2]] == FACTS[::2]
        and all(len({FACTS.index(text) % 2 for text in batch}) == 1 and len(batch) <= 4 for batch in tasks.batches)
    )
    assert seen[-1] == len(FACTS) and seen == sorted(seen)
    assert memory.flush() == 0
    assert all(episode.encoded for episode in memory.log(user_id="ada"))


def test_a_failure_is_visible_kept_and_retried(open_memory: Open) -> None:
    tasks = Tasks("number 3")
    memory = open_memory(tasks=tasks)
    list(memory.add_many([Message("user", text) for text in FACTS], user_id="ada"))
    memory.flush()
    stats = memory.stats()
    assert (stats.jobs_queued, stats.jobs_failed) == (0, 1), "only the message that cannot be worked on has failed"
    assert stats.failures == ("JobError: the model's reply for 'number 3' does not parse",)
    assert memory.stats(user_id="bob").failures == ()
    assert sum("number 3" in text for batch in tasks.batches for text in batch) == 3, "max_attempts"
    assert len(facts(memory)) == len(FACTS) - 1
    assert memory.flush() == 0, "a failed job waits for retry_failed"
    assert memory.search("sister number 3", user_id="ada", top_k=1)[0].text == FACTS[3], "nothing is lost"
    tasks.poison = ""
    assert memory.retry_failed() == 1
    memory.flush()
    assert memory.stats().jobs_failed == 0
    assert len(facts(memory)) == len(FACTS)
    assert memory.verify() == []


def of_many_runs(memory: Memory) -> Memory:
    """With each fact in a conversation of its own."""
    for i, text in enumerate(FACTS):
        memory.add(text, user_id="ada", run_id=f"run {i}")
    return memory


def test_messages_of_many_conversations_are_worked_on_together(open_memory: Open) -> None:
    tasks = Tasks()
    memory = of_many_runs(open_memory(config={"worker": {"batch_size": 5}}, tasks=tasks))
    memory.flush()
    assert tasks.batches == [FACTS[:5], FACTS[5:]]
    assert len(facts(memory)) == len(FACTS) and memory.verify() == []


@pytest.mark.parametrize("most", [1, 3])
def test_what_cannot_be_worked_on_fails_alone_among_conversations(most: int, open_memory: Open) -> None:
    tasks = Tasks("number 3")
    memory = of_many_runs(open_memory(config={"worker": {"max_attempts": most}}, tasks=tasks))
    memory.flush()
    assert memory.stats().jobs_failed == 1 and len(facts(memory)) == len(FACTS) - 1
    assert sum("number 3" in text for batch in tasks.batches for text in batch) == max(most, 2)


@pytest.mark.parametrize("answered", [True, False])
def test_a_message_without_any_answer_is_no_outage_where_the_model_has_answered_before(
    answered: bool, open_memory: Open
) -> None:
    """It fails for good, and those after it are read; before any answer the first silence ends the asking."""
    tasks = Tasks(poison="1952")
    tasks.error = EngineUnavailableError
    memory = open_memory(tasks=tasks)
    for user, i in (("ada", 0 if answered else 2), ("bob", 2), ("eve", 3)):
        memory.add(FACTS[i], user_id=user, now=NOW)
    memory.flush()
    stats = memory.stats()
    assert (stats.jobs_queued, stats.jobs_failed) == ((0, 1) if answered else (3, 0))
    assert len(facts(memory, "eve")) == answered
    assert len(tasks.batches) == (2 + memory.config.worker.max_attempts if answered else 1)


def test_a_job_that_others_made_fail_keeps_its_own_attempts(open_memory: Open) -> None:
    tasks = Tasks("number 3")
    memory = of_many_runs(open_memory(tasks=tasks))
    failing = iter([False, False, True])  # the batch, and alone two of the others: the second fails once
    extract = tasks.extract

    def at_times(units: Sequence[Unit], **heard: object) -> list[Extraction]:
        if next(failing, False):
            raise JobError("the server restarts")
        return extract(units, **heard)

    tasks.extract = at_times  # type: ignore[method-assign]
    memory.flush()
    assert memory.stats().failures == ("JobError: the model's reply for 'number 3' does not parse",)
    assert memory.stats().jobs_failed == 1 and len(facts(memory)) == len(FACTS) - 1


def test_a_flush_that_is_at_work_ends_though_the_memory_is_closed(open_memory: Open) -> None:
    memory = open_memory(tasks=Tasks(meanwhile=lambda: memory.close()))
    memory.add(FACTS[0], user_id="ada")
    assert memory.flush() == 1
    with pytest.raises(StoreClosedError):
        memory.stats()
    again = open_memory()
    assert again.stats().jobs_queued == 0 and len(facts(again)) == 1
    with again.components.database.read(ALL_USERS) as connection:
        assert leases.holders(connection, JOBS, now=0) == []


def test_an_error_that_is_no_failure_of_a_job_is_not_hidden(open_memory: Open) -> None:
    class Defect(Tasks):
        def extract(
            self,
            units: Sequence[Unit],
            *,
            listeners: Sequence[str],
            before: Sequence[Sequence[Unit]] = (),  # noqa: ARG002
        ) -> list[Extraction]:
            raise ZeroDivisionError(len(units), len(listeners))

    memory = open_memory(tasks=Defect())
    memory.add(FACTS[0], user_id="ada")
    with pytest.raises(ZeroDivisionError):
        memory.flush()
    assert memory.stats().jobs_queued == 1
    assert open_memory(config={"worker": {"lease": 60}}).flush() == 1, "the lease was given back"


def test_a_user_erased_during_an_extraction_has_no_fact(open_memory: Open) -> None:
    memory = open_memory()
    for text in FACTS[:3]:
        memory.add(text, user_id="ada", now=NOW)
    working = open_memory(tasks=Tasks(meanwhile=lambda: memory.erase(user_id="ada") and None))
    working.flush()
    assert facts(working) == []
    assert working.stats().jobs_queued == 0
    assert working.verify() == []


def test_a_message_erased_before_its_batch_is_read(open_memory: Open) -> None:
    """Between taking the batch and reading its units another process may erase."""
    memory = open_memory()
    said = memory.add(FACTS[0], user_id="ada")[0]
    with memory.components.database.read(ALL_USERS) as connection:
        batch = jobs.next_batch(connection, {"extract": 10})
    memory.erase(user_id="ada", memory_id=said.id)
    memory.components.worker._handlers["extract"].run(batch)
    assert memory.stats().units == {}
    assert memory.verify() == []


def test_work_done_twice_counts_once_and_readers_keep_up(open_memory: Open) -> None:
    """A lease that ran out lets two workers do one batch: the later result replaces the earlier one."""
    memory, reading = open_memory(), open_memory()
    list(memory.add_many([Message("user", text) for text in FACTS[:4]], user_id="ada"))
    with memory.components.database.read(ALL_USERS) as connection:
        batch = jobs.next_batch(connection, {"extract": 10})
    run = memory.components.worker._handlers["extract"].run
    run(batch)
    first = sorted(facts(reading))
    run(batch)
    assert sorted(facts(reading)) == sorted(facts(memory)) == first
    assert memory.stats().units["atomic_fact"] == len(first)
    assert memory.verify() == []


def test_one_worker_at_a_time_runs_the_jobs_of_a_user(open_memory: Open) -> None:
    working, overlapping = threading.Lock(), []

    class Exclusive(Tasks):
        def extract(
            self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
        ) -> list[Extraction]:
            if not working.acquire(blocking=False):
                overlapping.append(len(units))
                return super().extract(units, listeners=listeners, before=before)
            time.sleep(0.05)
            working.release()
            return super().extract(units, listeners=listeners, before=before)

    memories = [open_memory(config={"worker": {"batch_size": 1}}, tasks=Exclusive()) for _ in range(3)]
    list(memories[0].add_many([Message("user", text) for text in FACTS], user_id="ada"))
    threads = [threading.Thread(target=memory.flush) for memory in memories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert overlapping == []
    assert len(facts(memories[0])) == len(FACTS)
    assert memories[0].stats().jobs_queued == 0


def test_two_workers_take_different_users_and_neither_waits(open_memory: Open) -> None:
    """While the first one works on a user, what is said by another is read by the second."""
    other: list[int] = []

    def meanwhile() -> None:
        beside = open_memory()
        beside.add(FACTS[1], user_id="bob")
        with pytest.raises(StoreBusyError, match="another worker"):  # ada's, which the first is at
            beside.components.worker.run_pending(timeout=0.0)
        other.append(beside.stats(user_id="bob").jobs_queued)

    memory = open_memory(tasks=Tasks(meanwhile=meanwhile))
    memory.add(FACTS[0], user_id="ada")
    assert memory.flush() == 1
    assert other == [0] and len(facts(memory)) == len(facts(memory, "bob")) == 1


def test_a_full_disk_does_not_end_the_renewal_of_leases(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, calls = open_memory().components.worker, list[int]()

    def full() -> None:
        calls.append(1)
        raise StoreFullError("no space left")

    monkeypatch.setattr(worker, "_renew", full)
    monkeypatch.setattr(worker, "_lease_seconds", 0.03)
    with worker._renewing():
        give_up = time.monotonic() + 5
        while len(calls) < 3 and time.monotonic() < give_up:
            time.sleep(0.01)
    assert len(calls) >= 3


def test_a_lease_of_the_dead_runs_out(open_memory: Open) -> None:
    memory = open_memory(config={"worker": {"lease": 5.0}})
    memory.add(FACTS[0], user_id="ada")
    soon = time.time_ns() // 1000 + 300_000
    with memory.components.database.write(ONE_BY_ONE) as connection:
        assert leases.claim(connection, JOBS, ["ada"], "somebody who died", now=soon - 300_000, until=soon)
    with pytest.raises(StoreBusyError, match="another worker"):
        memory.components.worker.run_pending(timeout=0.1)
    begin = time.monotonic()
    assert memory.flush() == 1
    assert time.monotonic() - begin < 5
    assert facts(memory) != []


def test_adding_does_not_wait_for_the_worker(open_memory: Open) -> None:
    """Language work runs outside any transaction."""
    memory = open_memory(config={"store": {"busy_timeout": 0.3}})
    memory.add(FACTS[0], user_id="ada")
    other = open_memory(config={"store": {"busy_timeout": 0.3}})

    def add() -> None:
        time.sleep(0.1)
        other.add(FACTS[1], user_id="ada")

    working = open_memory(tasks=Tasks(meanwhile=add))
    working.flush()
    assert len(facts(working)) == 2


def test_a_lease_of_a_dead_process_is_taken_over(open_memory: Open) -> None:
    memory = open_memory()
    ended = subprocess.Popen(["true"])
    ended.wait()
    memory.add("My sister Ana was born in Kyoto in 1984.", user_id="ada")
    for host, waits in (("another-machine", True), (socket.gethostname(), False)):
        with memory.components.database.write(ONE_BY_ONE) as connection:
            later = time.time_ns() // 1000 + 60_000_000
            leases.release(connection, JOBS, leases.holder(connection, JOBS, "ada") or "")
            assert leases.claim(connection, JOBS, ["ada"], f"{host} {ended.pid} x", now=0, until=later)
        if waits:
            with pytest.raises(StoreBusyError):
                memory.components.worker.run_pending(timeout=0.1)
        else:
            assert memory.flush() == 1


@pytest.mark.parametrize("meanwhile", [False, True])
def test_an_erased_message_leaves_no_byte_in_the_errors_of_jobs(
    open_memory: Open, tmp_path: Path, meanwhile: bool
) -> None:
    tasks = Tasks(poison="zebra4711quux")
    memory = open_memory(tasks=tasks)
    (secret,) = memory.add("My locker code is zebra4711quux at the gym.", user_id="ada")
    memory.add("The gym opens at seven.", user_id="ada")
    if meanwhile:
        tasks.meanwhile = lambda: memory.erase(user_id="ada", memory_id=secret.id)
    memory.flush()
    if not meanwhile:
        assert "zebra4711quux" in str(memory.stats(user_id="ada").failures), "the error quotes the message"
        memory.erase(user_id="ada", memory_id=secret.id)
    for path in tmp_path.glob("store.db*"):
        assert b"zebra4711quux" not in path.read_bytes()


def test_a_program_error_does_not_stop_the_work_for_others(open_memory: Open) -> None:
    class Defect(Tasks):
        def extract(
            self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
        ) -> list[Extraction]:
            if any("number 0" in unit.text for unit in units):
                raise ZeroDivisionError(len(units))
            return super().extract(units, listeners=listeners, before=before)

    memory = open_memory(config={"worker": {"max_attempts": 2}}, tasks=Defect())
    memory.add(FACTS[0], user_id="ada")
    memory.add(FACTS[1], user_id="bob")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            memory.flush()
    memory.flush()
    assert facts(memory, "bob") and not facts(memory, "ada")
    assert memory.stats().failures == ("ZeroDivisionError: 1",)
