"""Deletion and erasure: no summary, no draft and no file says what is gone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.database.schema import drafts
from nscma_torch.core.errors import ModelError
from nscma_torch.core.jobs import jobs
from tests.hierarchy.lively import (
    Failing,
    Open,
    Tasks,
    assert_silent,
    said,
    summaries,
    word_of,
)


def test_everything_may_be_deleted_and_come_back(open_lively: Open, assert_whole: Any) -> None:
    memory = open_lively()
    ids = [a.id for a in memory.add_many(said(range(20)), user_id="ada")]
    memory.flush()
    assert memory.delete_all(user_id="ada") == 20
    assert all(node.stale for node in memory.tree(user_id="ada")) and summaries(memory) == []
    memory.flush()
    assert memory.tree(user_id="ada") == []
    for memory_id in ids:
        memory.restore(memory_id, user_id="ada")
    memory.flush()
    assert_whole(memory)
    assert max(node.level for node in memory.tree(user_id="ada")) >= 2


def test_a_deleted_message_is_out_of_the_tree_at_once(open_lively: Open) -> None:
    memory = open_lively()
    ids = [a.id for a in memory.add_many(said(range(30)), user_id="ada")]
    memory.flush()
    over = {node.id for node in memory.tree(user_id="ada") if node.level and ids[4] in node.episode_ids}
    assert over
    memory.delete(ids[4], user_id="ada")
    nodes = {node.id: node for node in memory.tree(user_id="ada")}
    assert all(ids[4] not in node.episode_ids for node in nodes.values())
    assert {node_id for node_id, node in nodes.items() if node.stale} == over & set(nodes)
    assert all(bool(node.text) != node.stale for node in nodes.values())
    assert set(nodes) >= {member for node in nodes.values() for member in node.members}


def test_erasure_reaches_the_summaries(open_lively: Open, tmp_path: Path, assert_whole: Any) -> None:
    memory = open_lively()
    ids = [a.id for a in memory.add_many(said(range(40)), user_id="ada")]
    memory.flush()
    target = next(i for i in range(40) if sum(word_of(i) in text for text in summaries(memory)) >= 2)
    receipt = memory.erase(user_id="ada", memory_id=ids[target])
    assert not receipt.found and receipt.rows["node_units"] >= 3
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert not any(word_of(target).encode() in path.read_bytes() for path in files)
    memory.flush()
    assert_whole(memory)
    memory.erase(user_id="ada")
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        for table in ("hierarchies", "nodes", "node_units", "personas", "links", "drafts", "jobs", "units"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


@pytest.mark.parametrize("what", ["message", "user"])
def test_erasure_reaches_the_drafts(what: str, open_lively: Open, tmp_path: Path) -> None:
    """Summaries of an integration that failed hold the text of messages that are in no hierarchy yet."""
    tasks = Failing("raises", at=2)
    memory = open_lively(config={"worker": {"max_attempts": 1}}, tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(8)), user_id="ada")]
    memory.flush()
    with memory.components.database.read(ALL_USERS) as connection:
        kept = list(connection.execute(select(drafts.c.text)).scalars())
    target = next(i for i in range(8) if any(word_of(i) in text for text in kept))
    receipt = memory.erase(user_id="ada", memory_id=ids[target] if what == "message" else None)
    memory.close()
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert not any(word_of(target).encode() in path.read_bytes() for path in files)
    assert not receipt.found


@pytest.mark.parametrize("again", [False, True], ids=["first integration", "a later one"])
@pytest.mark.parametrize("what", ["message", "user"])
def test_what_is_erased_while_it_is_summarised_is_not_drafted(
    what: str, again: bool, open_lively: Open, tmp_path: Path
) -> None:
    """The engine answers after the erasure, and then goes down: nothing may bring the text back into the file."""
    other = open_lively()
    receipts = []

    def before(call: int) -> None:
        if call > 1:
            raise ModelError("the engine is down")
        receipts.append(other.erase(user_id="ada", memory_id=ids[-2] if what == "message" else None))

    tasks = Tasks()
    memory = open_lively(config={"worker": {"max_attempts": 1}}, tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(12)), user_id="ada")]
    if again:
        memory.flush()
        ids += [a.id for a in memory.add_many(said(range(12, 20)), user_id="ada")]
        tasks.calls.clear()
    tasks.before = before
    memory.flush()
    assert not receipts[0].found
    other.close()
    memory.close()
    gone = word_of(len(ids) - 2).encode()
    assert not any(gone in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


@pytest.mark.parametrize("what", ["message", "user"])
def test_a_message_erased_before_its_batch_is_read(what: str, open_lively: Open) -> None:
    """Between taking the batch and reading its chunks another process may erase."""
    memory, other = open_lively(), open_lively()
    ids = [a.id for a in memory.add_many(said(range(3)), user_id="ada")]
    with memory.components.database.read(ALL_USERS) as connection:
        extractions = jobs.next_batch(connection, {"extract": 10})
    memory.components.worker._handlers["extract"].run(extractions)
    with memory.components.database.read(ALL_USERS) as connection:
        batch = jobs.next_batch(connection, {"integrate": 10})
    assert len(batch) == 3
    other.erase(user_id="ada", memory_id=ids[0] if what == "message" else None)
    memory.components.worker._handlers["integrate"].run(batch)
    memory.flush()
    assert memory.verify() == [] and memory.stats().jobs_queued == 0
    assert len(memory.tree(user_id="ada")) >= (2 if what == "message" else 0)
    assert_silent(memory, [0])
