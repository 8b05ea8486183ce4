"""From schema 3 to 4: what was extracted is extracted again, for what it says; nothing else changes."""

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


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of version 3: ada's messages are extracted and in a hierarchy, one of them edited; bob's wait."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SCHEMAS / "v3.sql").read_text(encoding="utf-8"))
    return path


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


JOBS = "SELECT seq, user_id, kind, lane, episode_seq, state, attempts, error FROM jobs ORDER BY seq"
UNITS = "SELECT kind, text, status FROM units ORDER BY seq"


def test_what_was_extracted_is_queued_again(old: Path, open_memory: Open) -> None:
    encoded = rows(old, "SELECT seq, stream_id FROM episodes WHERE encoded ORDER BY seq")
    waiting, units = rows(old, JOBS), rows(old, UNITS)
    assert len(encoded) == 6 and len(waiting) == 1
    memory = open_memory(old)
    jobs = rows(old, JOBS)
    assert jobs[:1] == waiting
    assert [(seq, lane) for _, _, _, lane, seq, *_ in jobs[1:]] == encoded
    assert {(user, kind, state, attempts, error) for _, user, kind, _, _, state, attempts, error in jobs[1:]} == {
        ("ada", "extract", "queued", 0, None)
    }
    assert rows(old, UNITS) == units
    assert memory.verify() == []


def test_deleted_messages_and_failed_jobs_stay_as_they_are(old: Path, open_memory: Open) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("UPDATE episodes SET status = 'deleted' WHERE seq = 3")
        connection.execute("INSERT INTO jobs VALUES (20, 'ada', 'extract', 'lane', 1, 'failed', 3, 'JobError: no')")
        connection.execute("UPDATE counters SET value = 21 WHERE name = 'jobs'")
        connection.commit()
    open_memory(old)
    by_episode = {row[4]: row for row in rows(old, JOBS)}
    assert 3 not in by_episode
    assert by_episode[1] == (20, "ada", "extract", "lane", 1, "failed", 3, "JobError: no")
    assert len(by_episode) == 6


def test_new_jobs_get_new_numbers(old: Path, open_memory: Open) -> None:
    memory = open_memory(old)
    highest = max(seq for (seq,) in rows(old, "SELECT seq FROM jobs"))
    memory.add("I have moved to Porto, to my sister Ana, in May 2024.", user_id="ada")
    assert rows(old, f"SELECT count(*) FROM jobs WHERE seq > {highest}") == [(1,)]


def test_opening_twice_changes_nothing(old: Path, open_memory: Open) -> None:
    open_memory(old).close()
    before = rows(old, JOBS)
    assert open_memory(old).verify() == [] and rows(old, JOBS) == before
