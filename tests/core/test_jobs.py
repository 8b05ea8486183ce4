"""The queue: one job per episode and kind, batches of one lane, leases with one holder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from sqlalchemy import Connection

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.jobs import jobs, leases, worker_health
from nscma_torch.episodic.log import recalls


@pytest.fixture
def connection(memory: Memory) -> Iterator[Connection]:
    for i in range(4):
        memory.add(f"note {i}", user_id="ada", run_id=f"r{i % 2}", infer=False)
    with memory.components.database.write(ALL_USERS) as connection:
        yield connection


ODD, EVEN = ("odd", 1), ("even", 2)
SIZES = {"extract": 10, "other": 10}


def numbers(batch: Sequence[jobs.Job]) -> list[int | None]:
    return [job.episode_seq for job in batch]


def test_a_job_is_queued_once(connection: Connection) -> None:
    assert jobs.enqueue(connection, "ada", "extract", [ODD, EVEN]) == 2
    assert jobs.enqueue(connection, "ada", "extract", [EVEN, ("odd", 3), ("odd", 3)]) == 1
    assert jobs.enqueue(connection, "ada", "other", [EVEN]) == 1
    assert jobs.enqueue(connection, "ada", "extract", []) == 0
    assert jobs.states(connection) == {"queued": 4}
    assert jobs.states(connection, "bob") == {}


def test_a_lane_as_a_whole_is_queued_once(connection: Connection) -> None:
    assert jobs.enqueue(connection, "ada", "extract", [("odd", None), ("even", None), ("odd", None)]) == 2
    assert jobs.enqueue(connection, "ada", "extract", [("odd", None)]) == 0
    assert jobs.enqueue(connection, "ada", "extract", [("odd", None), ODD]) == 1
    assert jobs.enqueue(connection, "ada", "other", [("odd", None)]) == 1
    batch = jobs.next_batch(connection, SIZES)
    assert [(job.lane, job.episode_seq) for job in batch] == [("odd", None), ODD]


def test_a_batch_is_of_one_lane_in_its_order(connection: Connection) -> None:
    jobs.enqueue(connection, "ada", "extract", [("even", 4), EVEN, ("odd", 3), ODD])
    first = jobs.next_batch(connection, SIZES)
    assert numbers(first) == [2, 4]
    assert numbers(jobs.next_batch(connection, {"extract": 1})) == [2]
    jobs.finish(connection, first)
    assert numbers(jobs.next_batch(connection, SIZES)) == [1, 3]


def test_a_batch_of_jobs_that_stand_alone_is_of_all_lanes_of_a_user(connection: Connection) -> None:
    jobs.enqueue(connection, "ada", "extract", [("even", 4), ODD, EVEN])
    jobs.enqueue(connection, "ada", "other", [("odd", 3)])
    jobs.enqueue(connection, "bob", "extract", [("bobs", None)])
    batch = jobs.next_batch(connection, SIZES, alone=("extract",))
    assert [(job.lane, job.episode_seq) for job in batch] == [("odd", 1), ("even", 2), ("even", 4)]
    assert numbers(jobs.next_batch(connection, {"extract": 2}, alone=("extract",))) == [1, 2]
    jobs.fail(connection, batch, "no", max_attempts=3)
    assert numbers(jobs.next_batch(connection, {"extract": 9}, alone=("extract",))) == [4], "the oldest job first"


def test_each_kind_has_its_own_size(connection: Connection) -> None:
    jobs.enqueue(connection, "ada", "other", [("odd", i) for i in (1, 2, 3)])
    jobs.enqueue(connection, "ada", "extract", [("odd", i) for i in (1, 2, 3)])
    batch = jobs.next_batch(connection, {"extract": 1, "other": 2})
    assert [(job.kind, job.episode_seq) for job in batch] == [("other", 1), ("other", 2)]
    jobs.finish(connection, jobs.next_batch(connection, SIZES))
    assert numbers(jobs.next_batch(connection, {"extract": 1, "other": 2})) == [1]


def test_what_failed_goes_alone_and_then_waits(connection: Connection) -> None:
    jobs.enqueue(connection, "ada", "extract", [ODD, ("odd", 3)])
    jobs.fail(connection, jobs.next_batch(connection, SIZES), "no", max_attempts=2)
    alone = jobs.next_batch(connection, SIZES, alone=("extract",))
    assert [(job.episode_seq, job.attempts) for job in alone] == [(1, 1)]
    jobs.fail(connection, alone, "no again", max_attempts=2)
    assert jobs.states(connection) == {"failed": 1, "queued": 1}
    assert jobs.failures(connection) == ["no", "no again"], "that of the one that waits, too"
    assert numbers(jobs.next_batch(connection, SIZES)) == [3]
    assert jobs.retry(connection) == 1
    assert [(job.episode_seq, job.attempts) for job in jobs.next_batch(connection, SIZES)] == [(1, 0)]


def test_a_lease_has_one_holder(connection: Connection) -> None:
    def claim(owner: str, now: int, users: Sequence[str] = ("ada",), name: str = leases.JOBS) -> list[str]:
        return leases.claim(connection, name, users, owner, now=now, until=now + 100)

    leases.begin(connection, ["bob"])
    assert claim("host 1 one", 1) == ["ada"]
    assert claim("host 1 one", 51) == ["ada"], "its holder extends it"
    assert claim("host 1 two", 150) == []
    assert claim("host 1 two", 150, ("ada", "bob", "nobody")) == ["bob"], "who is no user has no lease"
    assert claim("host 1 two", 150, name=leases.SLEEP) == ["ada"]
    leases.release(connection, leases.JOBS, "host 1 two", ["ada"])
    assert claim("host 1 two", 150) == [], "only its holder gives it back"
    leases.renew(connection, leases.JOBS, "host 1 one", until=300)
    assert claim("host 1 two", 299) == []
    assert leases.holders(connection, leases.JOBS, now=249) == ["host 1 one", "host 1 two"]
    assert claim("host 1 two", 300) == ["ada"], "it has run out"
    leases.renew(connection, leases.JOBS, "host 1 one", until=900)
    assert claim("host 1 three", 401) == ["ada"], "one that was lost is not renewed"
    leases.release(connection, leases.JOBS, "host 1 three")
    assert leases.holder(connection, leases.JOBS, "ada") is None


def test_a_lease_by_a_clock_that_was_ahead_is_free(connection: Connection) -> None:
    longest = leases.reach(30.0)
    for ahead, free in ((60_000_000, []), (3_600_000_000, ["ada"]), (80 * 365 * leases.DAY, ["ada"])):
        leases.claim(connection, leases.JOBS, ["ada"], "gone 7 abc", now=2**61, until=ahead)
        taken = leases.claim(connection, leases.JOBS, ["ada"], "here 1 one", now=0, until=1, longest=longest)
        assert taken == free


def test_leases_run_by_the_clock_of_the_database(
    connection: Connection, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 5_000)  # a machine whose clock is decades behind
    first = leases.now(connection)
    assert first > 1_700_000_000_000_000 if dialect == "postgresql" else first == 5
    assert leases.now(connection) > first or dialect == "sqlite", "it goes on within a transaction"


def test_work_that_is_done_for_a_time_is_not_done_again(connection: Connection) -> None:
    def due(before: int, now: int = 0) -> list[str]:
        wanted = leases.undone(leases.SLEEP, before=before, now=now)
        return leases.free(connection, leases.SLEEP, wanted, "host 1 x", now=0)

    leases.begin(connection, ["bob"])
    assert due(10) == ["ada", "bob"]
    for user in ("ada", "bob"):
        leases.claim(connection, leases.SLEEP, [user], f"host 1 {user}", now=0, until=100)
    assert due(10) == []
    leases.done(connection, leases.SLEEP, "ada", "host 1 ada", at=10)
    leases.done(connection, leases.SLEEP, "bob", "host 1 somebody", at=10)
    leases.release(connection, leases.SLEEP, "host 1 bob")
    assert due(10) == ["bob"] and due(11) == ["ada", "bob"]
    far = 80 * 365 * leases.DAY
    leases.claim(connection, leases.SLEEP, ["ada"], "host 1 ada", now=0, until=100)
    leases.done(connection, leases.SLEEP, "ada", "host 1 ada", at=far)
    assert due(11) == ["ada", "bob"], "a clock that was ahead does not keep her awake until then"
    assert due(11, now=far) == ["bob"], "another worker did it for a later time"
    assert worker_health.begin_sleep(connection, far) == far
    assert worker_health.begin_sleep(connection, 11) == 11 == worker_health.begin_sleep(connection, 12)


def test_who_waits_longest_comes_first(connection: Connection) -> None:
    def waiting(*kinds: str) -> list[str]:
        return list(connection.execute(jobs.users_waiting(kinds)).scalars())

    jobs.enqueue(connection, "bob", "extract", [("three", 3)])
    jobs.enqueue(connection, "ada", "other", [("one", None)])
    assert [waiting("extract", "other"), waiting("extract"), waiting("restate")] == [["bob", "ada"], ["bob"], []]
    ids = connection.exec_driver_sql("SELECT id FROM episodes").scalars()
    recalls.note_recalls(connection, "ada", dict.fromkeys(ids, 1))
    assert waiting("extract") == ["bob", "ada"]


def test_recalls_add_up_and_queue_what_was_not_encoded(connection: Connection, memory: Memory) -> None:
    ids = [row[0] for row in connection.exec_driver_sql("SELECT id FROM episodes ORDER BY seq")]
    recalls.note_recalls(connection, "ada", {ids[0]: 2, "gone": 5})
    recalls.note_recalls(connection, "ada", {ids[0]: 1, ids[1]: 1})
    recalls.note_recalls(connection, "bob", {ids[2]: 9})
    connection.exec_driver_sql("UPDATE episodes SET decision = '{}', encoded = (seq = 2) WHERE seq < 4")
    recalls.note_recalls(connection, "ada", {ids[3]: 0})  # added with infer=False: never queued
    assert jobs.waiting(connection, SIZES)
    assert recalls.users_recalled(connection, "host 1 x") == [], "only of users that are leased"
    leases.begin(connection, ["bob"])
    leases.claim(connection, leases.JOBS, ["ada", "bob"], "host 1 x", now=0, until=100)
    assert recalls.users_recalled(connection, "host 1 x") == ["ada"], "an id of another's is passed over"
    assert recalls.count_recalls(connection, "bob") == 0
    assert recalls.count_recalls(connection, "ada") == 1
    accesses = [row[0] for row in connection.exec_driver_sql("SELECT accesses FROM episodes ORDER BY seq")]
    assert accesses == [3, 1, 0, 0]
    assert recalls.users_recalled(connection, "host 1 x") == []
    batch = jobs.next_batch(connection, SIZES)
    stream = connection.exec_driver_sql("SELECT stream_id FROM episodes WHERE seq = 1").scalar_one()
    assert [(job.lane, job.episode_seq) for job in batch] == [(stream, 1)]


def test_the_next_batches_of_all_lanes_are_those_that_come_one_after_another(connection: Connection) -> None:
    """By the oldest job of each lane, cut by size and by attempts; other kinds, failed jobs and users stay out."""
    jobs.enqueue(connection, "ada", "extract", [("even", 4), EVEN, ("odd", None), ("odd", 3), ODD])
    jobs.enqueue(connection, "ada", "other", [("other", 1)])
    jobs.enqueue(connection, "bob", "extract", [("bobs", None)])
    jobs.fail(connection, jobs.next_batch(connection, {"extract": 1}), "went wrong", max_attempts=3)
    ahead = list(jobs.next_of_lanes(connection, "extract", 2))
    assert [numbers(batch) for batch in ahead] == [[4], [None, 1], [None]]
    assert list(jobs.next_of_lanes(connection, "extract", 2, user_id="bob")) == ahead[2:]
    leases.begin(connection, ["bob"])
    leases.claim(connection, leases.JOBS, ["bob"], "host 1 x", now=0, until=100)
    for owner, found in (("host 1 x", ahead[2:]), ("host 1 y", [])):
        assert list(jobs.next_of_lanes(connection, "extract", 2, owner=owner)) == found
        assert [jobs.next_batch(connection, {"extract": 2}, owner=owner)] == (found or [[]])
        assert list(jobs.whole_batches(connection, "extract", 9, up_to=9, owner=owner)) == found
    for expected in ahead:
        assert jobs.next_batch(connection, {"extract": 2}) == expected
        jobs.clear(connection, "extract", expected[0].lane)
    assert list(jobs.next_of_lanes(connection, "extract", 2)) == []


def test_whole_batches_are_the_same_whenever_they_are_asked_for(connection: Connection) -> None:
    """One a lane: the lane as a whole, or its first jobs if there are enough up to a row; other kinds stay out."""
    jobs.enqueue(connection, "ada", "extract", [("even", 4), EVEN, ("whole", None), ODD, ("whole", 3)])
    jobs.enqueue(connection, "ada", "other", [("even", 3), ("even", 1)])

    def found(size: int, up_to: int) -> list[list[int | None]]:
        return [numbers(batch) for batch in jobs.whole_batches(connection, "extract", size, up_to=up_to)]

    assert found(2, 4) == [[None], [2, 4]]
    assert found(2, 3) == [[None]], "the second of a lane comes later"
    assert found(1, 3) == [[None], [2], [1]]
    (alone, *_) = jobs.whole_batches(connection, "extract", 1, up_to=3)
    assert jobs.all_queued(connection, alone)
    jobs.finish(connection, alone)
    assert not jobs.all_queued(connection, alone)
    assert found(1, 3) == [[2], [1], [3]]
    failing = jobs.next_batch(connection, {"extract": 1})
    jobs.fail(connection, failing, "went wrong", max_attempts=1)
    assert not jobs.all_queued(connection, failing) and jobs.kinds_queued(connection, SIZES) == ["extract", "other"]
    jobs.clear(connection, "other", "even")
    assert jobs.kinds_queued(connection, SIZES) == ["extract"]


@pytest.mark.sqlite_file("it counts the steps of SQLite")
def test_reading_a_batch_costs_no_more_when_others_wait(connection: Connection) -> None:
    """In steps of SQLite's machine: found by the index of lanes, not by walking through what all have queued."""
    raw = connection.connection.driver_connection
    assert raw is not None
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    def cost(read: Callable[[], object]) -> int:
        nonlocal steps
        steps = 0
        raw.set_progress_handler(count, 10)
        read()
        raw.set_progress_handler(None, 10)
        return steps

    connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
    costs = []
    for lanes in (range(20), range(20, 400)):
        for place in range(3):
            jobs.enqueue_new(
                connection, "ada", "other", [(f"lane {lane}", 1000 * (place + 1) + lane) for lane in lanes]
            )
        once = cost(lambda: jobs.next_batch(connection, {"extract": 9, "other": 3}, stages={"other": 1}, up_to=9999))
        whole = cost(lambda: list(jobs.whole_batches(connection, "other", 3, up_to=9999)))
        first = cost(lambda: list(jobs.next_of_lanes(connection, "other", 3)))
        costs.append((once, whole / (lanes.stop), first / (lanes.stop)))
    for few, many in zip(*costs, strict=True):
        assert many < 2 * few + 5, costs
    jobs.clear(connection, "other", "lane 0")
    connection.rollback()
