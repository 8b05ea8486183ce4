"""Numbered migrations: a new store is created with the current tables; an older one is upgraded step by step.

To change the schema: change the tables of a capability, raise `SCHEMA_VERSION`, and add to `STEPS` a function that
makes the same change to a store of the previous version, in SQLite and in PostgreSQL. All steps of an upgrade run in
one transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from sqlalchemy import Connection, DDLElement, create_mock_engine

from nscma_torch.core.capabilities import all_tables
from nscma_torch.core.database import schema, store_path
from nscma_torch.core.errors import StoreVersionError

STEPS: dict[int, Callable[[Connection], None]] = {}  # by the version that a step starts from


def check(name: str, version: int) -> None:
    """Raise `StoreVersionError` for a store newer than this library, or too old to upgrade."""
    if version > schema.SCHEMA_VERSION:
        raise StoreVersionError(
            f"{name} has schema {version}, newer than this version's {schema.SCHEMA_VERSION}; upgrade nscma-torch"
        )
    if any(step not in STEPS for step in range(version, schema.SCHEMA_VERSION)):
        raise StoreVersionError(
            f"{name} has schema {version}, written by an unreleased version, and cannot be upgraded to schema "
            f"{schema.SCHEMA_VERSION}; open it with the version that wrote it, or start a new store"
        )


def upgrade(connection: Connection, name: str, version: int) -> None:
    """Run the migration steps from `version` to `SCHEMA_VERSION`. Call this inside a write transaction."""
    check(name, version)
    for step in range(version, schema.SCHEMA_VERSION):
        STEPS[step](connection)


@cache
def _definitions() -> tuple[str, ...]:
    """Return the statements that create the tables and indexes of a SQLite store; generating them takes 20 ms."""
    written: list[str] = []

    def write(definition: DDLElement, *_: Any, **__: Any) -> None:
        written.append(str(definition.compile(dialect=engine.dialect)))

    engine = create_mock_engine("sqlite://", write)
    all_tables().create_all(engine, checkfirst=False)
    return tuple(written)


def prepare_sqlite(connection: Connection, name: str) -> None:
    """Create the tables in an empty SQLite file, or upgrade an existing store. Call this inside a write transaction."""
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if version == 0:
        for definition in _definitions():
            connection.exec_driver_sql(definition)
    else:
        upgrade(connection, name, version)
    connection.exec_driver_sql(f"PRAGMA application_id={store_path.APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version={schema.SCHEMA_VERSION}")
