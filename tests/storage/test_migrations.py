"""A store of every earlier schema version becomes one of today, and keeps what it holds."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from nscma_torch.errors import StoreFormatError
from nscma_torch.memory import Memory
from nscma_torch.storage import migrations, schema

pytestmark = pytest.mark.sqlite_file("stores of earlier versions are files")

Open = Callable[..., Memory]
SCHEMAS = Path(__file__).with_name("schemas")


def build(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SCHEMAS / f"v{version}.sql").read_text(encoding="utf-8"))


def tables(path: Path) -> dict[str, str]:
    """The SQL of every table and index, in one spelling."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {f"{kind} {name}": re.sub(r"[\s\"]+", " ", sql).strip() for kind, name, sql in rows}


def test_every_earlier_version_is_kept() -> None:
    assert {path.name for path in SCHEMAS.glob("*.sql")} == {f"v{n}.sql" for n in range(1, schema.SCHEMA_VERSION)}
    assert sorted(migrations.STEPS) == list(range(1, schema.SCHEMA_VERSION))


@pytest.mark.parametrize("version", range(1, schema.SCHEMA_VERSION))
def test_an_earlier_store_becomes_one_of_today(version: int, open_memory: Open, tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    build(old, version)
    with closing(sqlite3.connect(old)) as connection:
        rows = connection.execute("SELECT id, user_id, position, text, write FROM episodes ORDER BY seq").fetchall()
    assert len(rows) >= 8 and {row[4] for row in rows} == {0, 1}
    migrated, fresh = open_memory(old), open_memory(new)
    assert tables(old) == tables(new)
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_VERSION,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        queued = connection.execute("SELECT e.id FROM jobs j JOIN episodes e ON e.seq = j.episode_seq ORDER BY e.seq")
        assert [row[0] for row in queued] == [row[0] for row in rows if row[4]], "written ones wait to be extracted"
    for user in ("ada", "bob"):
        kept = [
            (e.id, user, e.position, e.text, int(e.decision.write)) for e in migrated.log(user_id=user) if e.decision
        ]
        assert kept == [row for row in rows if row[1] == user]
    # and it works: search, write, extract, erase, export
    assert migrated.search("where did my sister move?", user_id="ada", top_k=1)[0].text == rows[0][3]
    migrated.add("I have a new kettle since Monday.", user_id="ada")
    migrated.flush()
    assert migrated.stats().units["atomic_fact"] > 0
    migrated.erase(user_id="bob")
    assert migrated.verify() == []
    fresh.import_(list(migrated.export()))
    assert fresh.digest() == migrated.digest()


def test_a_migration_that_fails_changes_nothing(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old.db"
    build(old, 1)
    before = tables(old)

    def fail(connection: object) -> None:
        migrations._jobs_recalls(connection)  # type: ignore[arg-type]
        raise StoreFormatError("half way")

    monkeypatch.setitem(migrations.STEPS, 1, fail)
    with pytest.raises(StoreFormatError, match="half way"):
        open_memory(old)
    assert tables(old) == before
    monkeypatch.undo()
    assert open_memory(old).verify() == []


def test_a_step_that_is_missing_says_so(open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path / "old.db", 1)
    monkeypatch.delitem(migrations.STEPS, 1)
    with pytest.raises(StoreFormatError, match="no migration leads from schema 1"):
        open_memory("old.db")
