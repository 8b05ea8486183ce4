"""Upgrades of older stores, proved with made-up steps on a SQLite file and a PostgreSQL database.

The old store lacks the table `drafts` and says that its schema is an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, make_url

from nscma_torch.core.config import StoreConfig
from nscma_torch.core.database import migrations, opening, schema
from nscma_torch.core.errors import StoreError, StoreVersionError
from tests.helpers.postgres import Server

NOW = schema.SCHEMA_VERSION
BEFORE = NOW - 1


class OldStore:
    """A store, opened by the library and looked at without it."""

    def __init__(self, address: str, engine: Engine) -> None:
        self.address, self.engine = address, engine

    def open(self) -> None:
        opening.open_database(self.address, StoreConfig()).close()

    def run(self, statement: str) -> Any:
        with self.engine.begin() as connection:
            result = connection.exec_driver_sql(statement)
            return result.scalar() if result.returns_rows else None

    @property
    def version(self) -> int:
        if self.engine.dialect.name == "sqlite":
            return int(self.run("PRAGMA user_version"))
        return int(self.run("SELECT value FROM meta WHERE key = 'schema_version'"))

    @version.setter
    def version(self, version: int) -> None:
        if self.engine.dialect.name == "sqlite":
            self.run(f"PRAGMA user_version={version}")
        else:
            self.run(f"UPDATE meta SET value = '{version}' WHERE key = 'schema_version'")

    def columns(self) -> set[tuple[str, str]]:
        """Every table with each of its columns."""
        query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'nscma'"
        if self.engine.dialect.name == "sqlite":
            query = "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
        with self.engine.connect() as connection:
            return {(table, column) for table, column in connection.exec_driver_sql(query)}


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OldStore]:
    if request.param == "sqlite":
        address = str(tmp_path / "old.db")
        engine = create_engine(f"sqlite:///{address}")
    else:
        server: Server = request.getfixturevalue("postgres_server")
        address = server.address(server.take(), role=None)  # never given back: its tables change
        url = make_url(address).set(drivername="postgresql+psycopg")
        engine = create_engine(url, connect_args={"options": "-c search_path=nscma,public"})
    store = OldStore(address, engine)
    store.open()
    store.run("DROP TABLE drafts")
    store.version = BEFORE
    yield store
    engine.dispose()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> dict[int, Callable[[Connection], None]]:
    """The steps that the library knows, to be filled by a test."""
    known: dict[int, Callable[[Connection], None]] = {}
    monkeypatch.setattr(migrations, "STEPS", known)
    return known


def create_drafts(connection: Connection) -> None:
    schema.drafts.create(connection)


def add_column(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE episodes ADD COLUMN made_up TEXT")


def fail(connection: Connection) -> None:
    add_column(connection)
    raise StoreError("half way")


def test_steps_run_once_and_in_order(old: OldStore, steps: dict[int, Callable[[Connection], None]]) -> None:
    old.version = BEFORE - 1
    steps |= {BEFORE: create_drafts, BEFORE - 1: add_column}
    old.open()
    assert old.version == NOW
    after = old.columns()
    assert {("drafts", "key"), ("episodes", "made_up")} <= after
    old.open()  # a second run of either step would fail
    assert old.version == NOW and old.columns() == after


def test_a_step_that_fails_takes_all_back(old: OldStore, steps: dict[int, Callable[[Connection], None]]) -> None:
    old.version = BEFORE - 1
    before = old.columns()
    steps |= {BEFORE - 1: create_drafts, BEFORE: fail}
    with pytest.raises(StoreError, match="half way"):
        old.open()
    assert (old.version, old.columns()) == (BEFORE - 1, before)
    steps[BEFORE] = add_column
    old.open()
    assert old.version == NOW and ("drafts", "key") in old.columns()


@pytest.mark.parametrize(
    ("version", "advice"), [(BEFORE - 1, "written by an unreleased version"), (NOW + 1, "upgrade nscma-torch")]
)
def test_other_versions_are_refused(
    version: int, advice: str, old: OldStore, steps: dict[int, Callable[[Connection], None]]
) -> None:
    steps[BEFORE] = create_drafts
    old.version = version
    before = old.columns()
    with pytest.raises(StoreVersionError, match=f"schema {version}.*{advice}"):
        old.open()
    assert (old.version, old.columns()) == (version, before)


@pytest.mark.parametrize("old", ["postgresql"], indirect=True)
def test_new_tables_get_row_level_security_and_sequences(
    old: OldStore, steps: dict[int, Callable[[Connection], None]]
) -> None:
    old.run("DROP SEQUENCE jobs_seq")
    steps[BEFORE] = create_drafts
    old.open()
    assert old.run("SELECT count(*) FROM pg_policies WHERE tablename = 'drafts'") == 1
    assert old.run("SELECT nextval('jobs_seq')") == 1
