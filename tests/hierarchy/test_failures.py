"""Language tasks that fail: the hierarchy is as it was, the error is shown, and the work is taken up again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.core.errors import JobError
from tests.hierarchy.lively import (
    NOW,
    Failing,
    Open,
    Tasks,
    said,
    summaries,
    words,
)


@pytest.mark.parametrize(
    ("how", "at"), [("raises", 2), ("too few", 1), ("too many", 2), ("blank", 1), ("half a surrogate", 2)]
)
def test_a_failure_leaves_everything_as_it_was(how: str, at: int, open_lively: Open, assert_whole: Any) -> None:
    once = {"worker": {"max_attempts": 1}}
    tasks = Failing(how, at + 100)
    memory, undisturbed = (
        open_lively("failing.db", config=once, tasks=tasks),
        open_lively("undisturbed.db", config=once),
    )
    for store in (memory, undisturbed):
        list(store.add_many(said(range(12)), user_id="ada", now=NOW))
        store.flush()
        list(store.add_many(said(range(12, 20)), user_id="ada", now=NOW))
    before = memory.tree(user_id="ada"), summaries(memory)
    tasks.calls.clear()
    tasks.at = at
    memory.flush()
    stats = memory.stats()
    assert stats.jobs_failed == 8 and stats.jobs_queued == 0
    error = (
        "ModelError: the engine"
        if how == "raises"
        else "EncodingError"
        if "surrogate" in how
        else "JobError: summarize"
    )
    assert len(stats.failures) == 1 and stats.failures[0].startswith(error)
    assert (memory.tree(user_id="ada"), summaries(memory)) == before
    assert memory.verify() == []
    assert memory.search("sister Ana", user_id="ada", kinds=("summary",))
    tasks.stuck = False
    assert memory.retry_failed() == 8
    memory.flush()
    undisturbed.flush()
    assert_whole(memory)
    assert memory.digest() == undisturbed.digest()


def test_a_failure_that_passes_is_tried_again_by_itself(open_lively: Open, assert_whole: Any) -> None:
    tasks = Tasks(before=lambda n: raise_(JobError("the server is restarting")) if n == 2 else None)
    memory = open_lively(tasks=tasks)
    list(memory.add_many(said(range(12)), user_id="ada"))
    memory.flush()
    assert_whole(memory)


def raise_(error: Exception) -> None:
    raise error


def test_drafts_spare_the_second_attempt_what_was_done(open_lively: Open, assert_whole: Any) -> None:
    tasks = Failing("raises", at=3)
    memory = open_lively(config={"worker": {"max_attempts": 1}}, tasks=tasks)
    list(memory.add_many(said(range(30)), user_id="ada"))
    memory.flush()
    first = tasks.calls[:]
    assert len(first) == 3 and memory.stats().jobs_failed == 30
    assert summaries(memory) == [], "drafts are no units"
    assert memory.search("sister Ana", user_id="ada", kinds=("summary",)) == []
    tasks.calls.clear()
    tasks.stuck = False
    memory.retry_failed()
    memory.flush()
    assert words(tasks.calls[0]) == words(first[2]), "levels 1 and 2 stand in the drafts"
    done = [group for call in first[:2] for group in map(tuple, call)]
    assert not any(tuple(group) in done for call in tasks.calls for group in call)
    assert_whole(memory)


def test_an_outage_does_not_change_what_comes_of_a_batch(open_lively: Open, assert_whole: Any) -> None:
    """A batch that failed is tried again as a batch: one by one it would be another hierarchy, and many calls."""
    tasks = Tasks(before=lambda n: raise_(JobError("the server is restarting")) if n <= 2 else None)
    memory, undisturbed = open_lively("outage.db", tasks=tasks), open_lively("undisturbed.db")
    for store in (memory, undisturbed):
        list(store.add_many(said(range(24)), user_id="ada", now=NOW))
        store.flush()
    assert_whole(memory)
    assert memory.digest() == undisturbed.digest()
    levels = max(node.level for node in memory.tree(user_id="ada"))
    assert len(tasks.calls) == 2 + levels


def test_an_edit_takes_up_a_message_that_had_failed(open_lively: Open, assert_whole: Any) -> None:
    tasks = Failing("raises")
    memory = open_lively(config={"worker": {"max_attempts": 1}}, tasks=tasks)
    ids = [added.id for added in memory.add_many(said(range(20)), user_id="ada")]
    memory.flush()
    assert memory.stats().jobs_failed == 20
    tasks.stuck = False
    memory.update(ids[0], "The landlord has painted the harbour house green.", user_id="ada")
    memory.delete(ids[1], user_id="ada")
    memory.restore(ids[1], user_id="ada")
    memory.flush()
    assert memory.stats().jobs_failed == 16, "the two after each are read again, and taken up with it"
    held = {source for node in memory.tree(user_id="ada") for source in node.episode_ids}
    assert held == set(ids[:4])
    memory.retry_failed()
    memory.flush()
    assert_whole(memory)


@pytest.mark.parametrize("damage", ["UPDATE units SET user_id = 'bob'", "DELETE FROM vectors"])
def test_a_damaged_store_is_an_error_not_an_endless_flush(damage: str, open_lively: Open, tmp_path: Path) -> None:
    memory = open_lively()
    list(memory.add_many(said(range(20)), user_id="ada"))
    memory.flush()
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.execute(f"{damage} WHERE {'seq' if 'units' in damage else 'unit_seq'} <= 10")
        connection.commit()
    memory.components.integrator._last = None
    list(memory.add_many(said(range(20, 30)), user_id="ada"))
    memory.flush()
    assert memory.stats().jobs_failed
    assert all(failure.startswith("StoreFormatError: ") for failure in memory.stats().failures)
