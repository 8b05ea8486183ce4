"""Sleep with a language model that fails: the store is as it was, and catches up."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import Whose
from nscma_torch.core.database.sqlite_database import SqliteDatabase
from tests.helpers.noting import DEFERRED, NotedTasks, a_life, day, everything, held, log, say

Open = Callable[..., Memory]
FADING: dict[str, Any] = {"curator": {"initial_strength": 30.0}}  # below the floor of 5 % after 90 days


@pytest.fixture
def worn(noted: Open) -> tuple[Memory, NotedTasks]:
    """A store with work for each stage, where one message that was deferred waits."""
    tasks = NotedTasks()
    memory = noted(tasks=tasks)
    a_life(memory)
    memory.flush()
    memory.sleep(now=day(11))
    memory.close()
    memory = noted(config=DEFERRED, tasks=tasks)
    say(memory, "The poison says {Ann|lives_in|Lima}", 650, name="Ann")
    memory.search("zebra", user_id="ada", top_k=1, now=day(651))
    return memory, tasks


def test_a_failing_language_call_leaves_the_store_as_it_was(worn: Any, contents: Any, tmp_path: Path) -> None:
    memory, tasks = worn
    tasks.broken = "poison"
    digest, facts, decisions = memory.digest(), everything(memory), log(memory)
    report = memory.sleep(now=day(700))
    assert len(report.failures) == 1 and "the language model is away" in report.failures[0]
    assert (report.forgotten_facts, report.promoted, report.profile_lines, report.proposed) == (0, 0, 0, 0)
    assert memory.digest() == digest
    assert (everything(memory), log(memory)) == (facts, decisions)
    assert memory.stats().jobs_failed == 1
    assert memory.stats().failures == report.failures
    assert memory.verify() == []
    tasks.broken = None
    assert memory.retry_failed() == 1
    done = memory.sleep(now=day(700))
    assert done.failures == () and done.forgotten_facts and done.profile_lines
    assert held(memory, "lives_in", subject="Ann") == ["Lima"]


def test_after_a_failure_was_mended_all_is_as_if_it_had_not_been(noted: Open) -> None:
    digests = set()
    for name in ("failed", "never"):
        tasks = NotedTasks()
        memory = noted(f"{name}.db", DEFERRED, tasks=tasks)
        a_life(memory)
        if name == "failed":
            tasks.broken = "zebra"
            assert memory.sleep(now=day(11)).failures
            tasks.broken = None
            memory.retry_failed()
        memory.sleep(now=day(11))
        digests.add(memory.digest())
    assert len(digests) == 1


def test_an_old_failure_does_not_keep_the_store_awake(worn: Any) -> None:
    memory, tasks = worn
    tasks.broken = "poison"
    assert memory.sleep(now=day(700)).failures
    again = memory.sleep(now=day(700))
    assert again.failures == () and again.replayed == 0
    assert again.forgotten_facts and again.promoted
    assert memory.stats().jobs_failed == 1, "it stays visible until it is tried again"


def test_an_error_that_is_not_the_librarys_own_comes_through_and_harms_nothing(worn: Any) -> None:
    memory, tasks = worn
    tasks.broken, tasks.error = "poison", ZeroDivisionError
    digest, decisions = memory.digest(), log(memory)
    with pytest.raises(ZeroDivisionError):
        memory.sleep(now=day(700))
    assert (memory.digest(), log(memory)) == (digest, decisions)
    tasks.broken = None
    assert memory.sleep(now=day(700)).failures == ()
    assert held(memory, "lives_in", subject="Ann") == ["Lima"]


def test_failing_summaries_keep_the_later_stages_from_beginning(noted: Open) -> None:
    tasks = NotedTasks()
    hierarchy = {"enabled": True, "min_members": 2, "gamma": 0.0, "neighbours": 2}
    memory = noted(config={"hierarchy": hierarchy}, tasks=tasks)
    for at in range(6):
        say(memory, f"The poison of the zebra {at}: {{Ann|likes|thing {at}}}", at, name="Ann")
    tasks.broken = "poison"
    report = memory.sleep(now=day(900))
    assert report.failures and report.forgotten_facts == 0 and memory.stats().jobs_failed
    tasks.broken = None
    memory.retry_failed()
    assert memory.sleep(now=day(900)).forgotten_facts == 6
    assert memory.verify() == []


class Killed(BaseException):
    """Stands for a kill."""


def test_a_sleep_stopped_at_any_transaction_goes_on(noted: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt every third transaction, before it begins or as it commits; the next sleep ends as an unbroken one."""

    def prepared(name: str) -> Memory:
        memory = noted(name, DEFERRED)
        a_life(memory)
        for text in ("zebra", "Rome"):
            memory.search(text, user_id="ada", now=day(19))
        memory.close()  # stores the recalls, which a kill would lose
        return noted(name, DEFERRED)

    memory = prepared("whole.db")
    memory.sleep(now=day(900))
    digest, write, stop, finished = memory.digest(), SqliteDatabase.write, 0, False
    while not finished:
        memory, left = prepared(f"stopped-{stop}.db"), [stop]

        @contextmanager
        def stopping(self: SqliteDatabase, whose: Whose, left: list[int] = left, **waits: Any) -> Any:
            left[0] -= 1
            if left[0] == -1:
                raise Killed
            with write(self, whose, **waits) as connection:
                yield connection
                if left[0] == -2:
                    raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(SqliteDatabase, "write", stopping)
            try:
                memory.sleep(now=day(900))
                finished = True
            except Killed:
                pass
        memory.sleep(now=day(900))
        assert memory.digest() == digest, f"stopped at transaction {stop}"
        stop += 3
    assert stop > 9
