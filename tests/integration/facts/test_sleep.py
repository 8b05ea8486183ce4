"""Sleep: twice is once, and a dry run tells what it would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.records import SleepReport, Stats
from tests.helpers.noting import DEFERRED, NotedTasks, a_life, day, everything, held, log, say, tell

Open = Callable[..., Memory]
FADING: dict[str, Any] = {"curator": {"initial_strength": 30.0}}  # below the floor of 5 % after 90 days


def timeless(stats: Stats) -> Stats:
    return replace(stats, stage_seconds={}, file_bytes=0)


# Twice is once


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("now", [11, 700])
def test_sleeping_twice_is_sleeping_once(deferred: bool, now: int, noted: Open) -> None:
    memory = noted(config=DEFERRED if deferred else None)
    a_life(memory)
    memory.search("zebra", user_id="ada", top_k=2, now=day(10))
    memory.feedback(memory.get_all(user_id="ada", now=day(10))[0].id, user_id="ada", helpful=True, now=day(10))
    first = memory.sleep(now=day(now))
    assert first.users == ("ada",) and not first.dry_run and first.failures == ()
    state = (memory.digest(), log(memory), everything(memory), memory.profile(user_id="ada"))
    for _ in range(2):
        again = memory.sleep(now=day(now))
        assert again == SleepReport(("ada",), disputed=len(memory.conflicts(user_id="ada")))
        assert (memory.digest(), log(memory), everything(memory), memory.profile(user_id="ada")) == state
    assert memory.verify() == []
    assert memory.stats().jobs_queued == memory.stats().recalls_queued == 0


def test_the_report_counts_what_changed(noted: Open) -> None:
    memory = noted(config=DEFERRED)
    a_life(memory)
    report = memory.sleep(user_id="ada", now=day(11))
    assert (report.replayed, report.disputed, report.proposed) == (9, 1, 1)
    assert (report.forgotten_facts, report.forgotten_messages, report.promoted) == (0, 0, 0)
    assert report.profile_lines == len(memory.profile(user_id="ada")) == 3
    zebra = memory.search("zebra", user_id="ada", top_k=1, now=day(12))
    assert len(zebra) == 1 and memory.sleep(now=day(12)).promoted == 1
    late = memory.sleep(now=day(900))
    assert late.forgotten_facts == 7 and late.forgotten_messages == 8, "all but what was recalled"
    assert held(memory) == ["tea"]


def test_one_user_sleeps_and_the_others_are_left_alone(memory: Memory) -> None:
    for user in ("ada", "bob"):
        tell(memory, "{Ann|lives_in|Rome}", 1, name="Ann", user_id=user)
    before = memory.digest(user_id="bob")
    assert memory.sleep(user_id="ada", now=day(800)).users == ("ada",)
    assert memory.digest(user_id="bob") == before
    assert (held(memory), held(memory, user_id="bob")) == ([], ["Rome"])
    with pytest.raises(NotFoundError):
        memory.sleep(user_id="nobody", now=day(800))
    assert memory.sleep(now=day(800)).users == ("ada", "bob")


def test_an_empty_store_sleeps(memory: Memory) -> None:
    assert memory.sleep(now=day(1)) == SleepReport(())
    assert memory.sleep(now=day(1), dry_run=True) == SleepReport((), dry_run=True)


# Dry runs


@pytest.mark.parametrize("deferred", [False, True])
def test_a_dry_run_changes_nothing(deferred: bool, noted: Open, contents: Any, tmp_path: Path) -> None:
    memory = noted(config=DEFERRED if deferred else None)
    a_life(memory)
    memory.flush()
    memory.sleep(now=day(11))
    say(memory, "{Ann|lives_in|Lima}", 12, name="Ann")
    memory.flush()
    memory.search("zebra", user_id="ada", now=day(13))
    memory.feedback(memory.get_all(user_id="ada", now=day(13))[0].id, user_id="ada", helpful=True, now=day(13))
    rows, digest, stats = contents(tmp_path / "store.db"), memory.digest(), timeless(memory.stats())
    for now in (14, 900):
        report = memory.sleep(now=day(now), dry_run=True)
        assert report.dry_run and report.promoted and report.replayed == deferred
        assert contents(tmp_path / "store.db") == rows
        assert memory.digest() == digest
        assert timeless(memory.stats()) == stats
    assert report.forgotten_facts and report.forgotten_messages


def test_a_dry_run_tells_what_the_sleep_then_does(memory: Memory) -> None:
    a_life(memory)
    memory.flush()
    memory.search("zebra", user_id="ada", top_k=1, now=day(11))
    for now in (11, 700):
        planned = memory.sleep(now=day(now), dry_run=True)
        done = memory.sleep(now=day(now))
        assert planned == replace(done, dry_run=True)
    assert done.forgotten_facts and done.forgotten_messages and done.profile_lines


def test_a_dry_run_counts_what_was_deferred_and_reads_nothing(noted: Open) -> None:
    tasks = NotedTasks()
    memory = noted(config=DEFERRED, tasks=tasks)
    a_life(memory)
    tasks.broken = ""  # any call would fail
    report = memory.sleep(now=day(11), dry_run=True)
    assert (report.replayed, report.failures) == (9, ())
    assert memory.stats().jobs_queued == memory.stats().jobs_failed == 0
