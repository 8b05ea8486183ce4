"""From schema 2 to 3: jobs get lanes, and what was extracted before there were hierarchies goes into one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from nscma_torch.memory import Memory

pytestmark = pytest.mark.sqlite_file("stores of earlier versions are files")

Open = Callable[..., Memory]
SCHEMAS = Path(__file__).with_name("schemas")
SMALL = {"hierarchy": {"min_members": 2, "gamma": 0.1}}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of version 2: ada's messages are extracted and one deferred one was recalled, bob's wait."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SCHEMAS / "v2.sql").read_text(encoding="utf-8"))
    return path


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


JOBS = "SELECT j.user_id, j.kind, j.lane = e.stream_id, e.seq, j.state, j.attempts, j.error FROM jobs j " \
       "JOIN episodes e ON e.seq = j.episode_seq ORDER BY e.seq"  # fmt: skip


def test_what_was_extracted_goes_into_a_hierarchy(old: Path, open_memory: Open) -> None:
    extracted = [seq for (seq,) in rows(old, "SELECT seq FROM episodes WHERE encoded")]
    assert len(extracted) >= 5
    facts = rows(old, "SELECT text FROM units WHERE kind = 'atomic_fact' ORDER BY text")
    memory = open_memory(old, SMALL)
    queued = rows(old, JOBS)
    assert all(lane for _, _, lane, *_ in queued)
    assert [seq for user, *_, seq, _, _, _ in queued if user == "ada"] == extracted
    memory.flush()
    assert memory.verify() == [] and memory.stats().jobs_queued == 0
    nodes = memory.tree(user_id="ada")
    leaves = {i for node in nodes if not node.level for i in node.episode_ids}
    assert leaves == {e.id for e in memory.log(user_id="ada") if e.encoded}
    assert len(leaves) == len(extracted) + 1, "those that were extracted, and the one that was recalled"
    assert [n.episode_ids for n in memory.tree(user_id="bob", agent_id="cook") if not n.level]
    assert set(rows(old, "SELECT text FROM units WHERE kind = 'atomic_fact'")) >= set(facts)
    assert any(node.level for node in nodes) and all(node.text for node in nodes)


def test_failed_and_tried_jobs_keep_their_state(old: Path, open_memory: Open) -> None:
    change(
        old,
        "UPDATE jobs SET state = 'failed', attempts = 3, error = 'JobError: no'",
        "INSERT INTO jobs VALUES (8, 'ada', 'extract', 1, 'queued', 2, 'JobError: once')",
        "UPDATE counters SET value = 9 WHERE name = 'jobs'",
    )
    memory = open_memory(old, SMALL)
    by_seq = {row[3]: row for row in rows(old, JOBS)}
    assert by_seq[9] == ("bob", "extract", 1, 9, "failed", 3, "JobError: no")
    assert by_seq[1] == ("ada", "extract", 1, 1, "queued", 2, "JobError: once")
    assert memory.stats().failures == ("JobError: no", "JobError: once")
    memory.flush()
    assert memory.retry_failed() == 1
    memory.flush()
    assert (memory.stats().jobs_queued, memory.stats().jobs_failed) == (0, 0)


def test_new_jobs_get_new_numbers(old: Path, open_memory: Open) -> None:
    memory = open_memory(old, SMALL)
    highest = max(seq for (seq,) in rows(old, "SELECT seq FROM jobs"))
    memory.add("I have moved to Porto, to my sister Ana, in May 2024.", user_id="ada")
    assert rows(old, f"SELECT count(*) FROM jobs WHERE seq > {highest}") == [(1,)]


def test_what_was_deleted_stays_out(old: Path, open_memory: Open) -> None:
    change(
        old,
        "UPDATE episodes SET status = 'deleted' WHERE seq = 3",
        "UPDATE units SET status = 'deleted' WHERE seq IN (SELECT unit_seq FROM unit_sources WHERE episode_seq = 3)",
    )
    memory = open_memory(old, SMALL)
    assert 3 not in {row[3] for row in rows(old, JOBS)}
    memory.flush()
    assert memory.verify() == []
    hidden = memory.log(user_id="ada")[2].id
    assert hidden not in {i for node in memory.tree(user_id="ada") for i in node.episode_ids}
    memory.restore(hidden, user_id="ada")
    memory.flush()
    assert hidden in {i for node in memory.tree(user_id="ada") for i in node.episode_ids}


@pytest.mark.parametrize("content", ["no jobs", "empty"])
def test_a_store_without_work(content: str, old: Path, open_memory: Open) -> None:
    gone = ("jobs", "recalls") if content == "no jobs" else (
        "jobs", "recalls", "history", "postings", "vectors", "unit_sources", "units", "episodes", "streams", "users",
        "counters", "meta",
    )  # fmt: skip
    change(old, *(f"DELETE FROM {table}" for table in gone))
    memory = open_memory(old, SMALL)
    memory.add("My sister Ana moved to Porto in May 2024.", user_id="ada")
    memory.flush()
    assert memory.verify() == []
    leaves = {i for node in memory.tree(user_id="ada") for i in node.episode_ids}
    assert leaves == {e.id for e in memory.log(user_id="ada") if e.encoded}


def test_opening_twice_changes_nothing(old: Path, open_memory: Open) -> None:
    open_memory(old).close()
    before = rows(old, JOBS)
    memory = open_memory(old)
    assert rows(old, JOBS) == before
    assert memory.verify() == []
