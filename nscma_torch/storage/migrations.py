"""Numbered migrations. A new store gets today's tables at once; an older one is brought up step by step.

To change the schema: change the file of its tables (`schema.py`, `fact_schema.py`, `derived_schema.py`,
`record_schema.py`), raise `SCHEMA_VERSION`, add one function to `STEPS`, and keep a store of the old version in
`tests/storage/schemas/`. All steps of one opening run in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from sqlalchemy import Connection, DDLElement, create_mock_engine, inspect

from nscma_torch.errors import StoreFormatError
from nscma_torch.storage import derived_schema, fact_schema, leases, record_schema, schema, store_path


def _jobs_recalls(connection: Connection) -> None:
    """1 to 2: background work. Episodes that the gate let through are queued, as if they had just been added."""
    schema.recalls.create(connection)
    connection.exec_driver_sql(
        "CREATE TABLE jobs (seq BIGINT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, kind TEXT NOT NULL, "
        "episode_seq BIGINT NOT NULL REFERENCES episodes (seq), state TEXT NOT NULL, attempts INTEGER NOT NULL, "
        "error TEXT, UNIQUE (kind, episode_seq))"
    )
    connection.exec_driver_sql(
        "INSERT INTO jobs (seq, user_id, kind, episode_seq, state, attempts) "
        "SELECT row_number() OVER (ORDER BY seq), user_id, 'extract', seq, 'queued', 0 FROM episodes "
        "WHERE write AND NOT encoded AND status = 'active'"
    )
    connection.exec_driver_sql("INSERT INTO counters (name, value) SELECT 'jobs', count(*) + 1 FROM jobs")
    connection.exec_driver_sql(
        "INSERT INTO counters (name, value) SELECT 'epochs', coalesce(max(epoch), 0) + 1 FROM users"
    )


def _hierarchies(connection: Connection) -> None:
    """2 to 3: the hierarchy, and jobs by lane. What was extracted is queued again: extraction hands on to it."""
    connection.exec_driver_sql("DROP INDEX IF EXISTS jobs_state")
    connection.exec_driver_sql("DROP INDEX IF EXISTS ix_jobs_user_id")
    connection.exec_driver_sql("ALTER TABLE jobs RENAME TO jobs_2")
    new = ("jobs", "hierarchies", "nodes", "node_units", "personas", "links", "drafts")
    for table in new:
        schema.metadata.tables[table].create(connection)
    connection.exec_driver_sql(
        "INSERT INTO jobs (seq, user_id, kind, lane, episode_seq, state, attempts, error) "
        "SELECT j.seq, j.user_id, j.kind, e.stream_id, j.episode_seq, j.state, j.attempts, j.error "
        "FROM jobs_2 j JOIN episodes e ON e.seq = j.episode_seq"
    )
    connection.exec_driver_sql("DROP TABLE jobs_2")
    connection.exec_driver_sql(
        "INSERT INTO jobs (seq, user_id, kind, lane, episode_seq, state, attempts) "
        "SELECT (SELECT coalesce(max(seq), 0) FROM jobs) + row_number() OVER (ORDER BY seq), user_id, 'extract', "
        "stream_id, seq, 'queued', 0 FROM episodes WHERE encoded AND status = 'active' "
        "AND seq NOT IN (SELECT episode_seq FROM jobs WHERE kind = 'extract')"
    )
    connection.exec_driver_sql(
        "INSERT INTO counters (name, value) SELECT 'jobs', coalesce(max(seq), 0) + 1 FROM jobs WHERE true "
        "ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)"
    )
    next(index for index in schema.units.indexes if index.name == "units_stream").create(connection)


def _facts(connection: Connection) -> None:
    """3 to 4: statements and facts. What was extracted before is queued again, for what it says."""
    for table in fact_schema.TABLES:
        table.create(connection)
    connection.exec_driver_sql(
        "INSERT INTO jobs (seq, user_id, kind, lane, episode_seq, state, attempts) "
        "SELECT (SELECT coalesce(max(value), 1) FROM counters WHERE name = 'jobs') - 1 "
        "+ row_number() OVER (ORDER BY seq), user_id, 'extract', stream_id, seq, 'queued', 0 FROM episodes "
        "WHERE encoded AND status = 'active' AND seq NOT IN (SELECT episode_seq FROM jobs WHERE kind = 'extract')"
    )
    connection.exec_driver_sql(
        "INSERT INTO counters (name, value) SELECT 'jobs', coalesce(max(seq), 0) + 1 FROM jobs WHERE true "
        "ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)"
    )


def _order_of_ends(connection: Connection) -> None:
    """4 to 5: the order in which facts began and ended at one time. All groups wait to be resolved again for it."""
    kept = (
        "seq, id, namespace, user_id, subject, relation, topic, object, object_key, valid_from, valid_to, status, "
        "archived_by, confidence, strength, sequence, reason, recorded_at, retired_at"
    )
    tables = (fact_schema.facts, fact_schema.fact_sources)
    for table in tables:
        connection.exec_driver_sql(f"CREATE TEMP TABLE {table.name}_4 AS SELECT * FROM main.{table.name}")
    for table in reversed(tables):
        table.drop(connection)
    for table in tables:
        table.create(connection)
    connection.exec_driver_sql(f"INSERT INTO facts ({kept}) SELECT {kept} FROM facts_4 ORDER BY seq")
    connection.exec_driver_sql(
        "INSERT INTO fact_sources (fact_seq, statement_seq, user_id) "
        "SELECT fact_seq, statement_seq, user_id FROM fact_sources_4"
    )
    for table in tables:
        connection.exec_driver_sql(f"DROP TABLE temp.{table.name}_4")
    connection.exec_driver_sql(
        "INSERT OR IGNORE INTO unresolved (namespace, user_id, subject, relation, topic) "
        "SELECT DISTINCT namespace, user_id, subject, relation, topic FROM facts WHERE retired_at IS NULL"
    )
    connection.exec_driver_sql(
        "INSERT INTO jobs (seq, user_id, kind, lane, episode_seq, state, attempts) "
        "SELECT (SELECT coalesce(max(value), 1) FROM counters WHERE name = 'jobs') - 1 "
        "+ row_number() OVER (ORDER BY namespace), user_id, 'curate', namespace, NULL, 'queued', 0 "
        "FROM (SELECT DISTINCT namespace, user_id FROM unresolved) "
        "WHERE namespace NOT IN (SELECT lane FROM jobs WHERE kind = 'curate')"
    )
    connection.exec_driver_sql(
        "INSERT INTO counters (name, value) SELECT 'jobs', coalesce(max(seq), 0) + 1 FROM jobs WHERE true "
        "ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)"
    )


def _unit_changes(connection: Connection) -> None:
    """5 to 6: the log of changed units. What was read before it is not held by anybody who reads the log."""
    schema.unit_changes.create(connection)


def _unit_statements(connection: Connection) -> None:
    """6 to 7: which statements a unit says. Of earlier units nothing is known until they are made again."""
    fact_schema.unit_statements.create(connection, checkfirst=True)  # 3 to 4 makes all tables of facts


def _namespaces(connection: Connection) -> None:
    """7 to 8: facts have a namespace, which was called their lane. Taken before all other steps: they use the new name.

    A step that makes tables makes them as they are today, so that no store is ever between the two names.
    """
    names = {row[0] for row in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "fact_lanes" not in names:
        return
    connection.exec_driver_sql("ALTER TABLE fact_lanes RENAME TO fact_namespaces")
    connection.exec_driver_sql("DROP INDEX ix_fact_lanes_user_id")
    for index in fact_schema.fact_namespaces.indexes:
        index.create(connection)
    for table in fact_schema.TABLES:
        if table.name in names and "namespace" in table.c:
            connection.exec_driver_sql(f"ALTER TABLE {table.name} RENAME COLUMN lane TO namespace")


def _derived_texts(connection: Connection) -> None:
    """8 to 9: texts that sleep derives. None was derived before."""
    for table in derived_schema.DERIVED_TABLES:
        table.create(connection)


def _derived_links(connection: Connection) -> None:
    """9 to 10: texts that are derived from derived texts. None was derived so before."""
    derived_schema.derived_links.create(connection, checkfirst=True)  # 8 to 9 makes all tables of derived texts


def _records(connection: Connection) -> None:
    """10 to 11: structured records. Of earlier messages there is none until they are read again (`reextract`)."""
    for table in record_schema.RECORD_TABLES:
        table.create(connection)


def _derived_omissions(connection: Connection) -> None:
    """11 to 12: what parts left out. Of earlier derivations nothing is known until they are made again."""
    derived_schema.derived_omissions.create(connection, checkfirst=True)  # 8 to 9 makes all tables of derived texts


def _leases_of_users(connection: Connection) -> None:
    """12 to 13: leases of each user instead of one for all, and as many background workers as are started."""
    for table in (schema.user_leases, schema.workers, schema.work_errors):
        table.create(connection, checkfirst=True)
    connection.exec_driver_sql("DROP TABLE IF EXISTS leases")
    for name in leases.NAMES:
        connection.exec_driver_sql(
            f"INSERT INTO user_leases (user_id, name, until) SELECT user_id, '{name}', 0 FROM users WHERE true "
            "ON CONFLICT DO NOTHING"  # an earlier step may have written for a user already
        )
    connection.exec_driver_sql("DELETE FROM meta WHERE key IN ('worker', 'worker error')")


def _zones_and_latest_begins(connection: Connection) -> None:
    """13 to 14: the zone in which a message was said, and the latest time at which a statement began. Both unknown."""
    for column in (schema.episodes.c.utc_offset, fact_schema.statements.c.begun_by):
        table, kind = column.table.name, column.type.compile(dialect=connection.dialect)
        if column.name not in {known["name"] for known in inspect(connection).get_columns(table)}:  # 3 to 4 makes it
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column.name} {kind}")


STEPS: dict[int, Callable[[Connection], None]] = {
    1: _jobs_recalls,
    2: _hierarchies,
    3: _facts,
    4: _order_of_ends,
    5: _unit_changes,
    6: _unit_statements,
    7: _namespaces,
    8: _derived_texts,
    9: _derived_links,
    10: _records,
    11: _derived_omissions,
    12: _leases_of_users,
    13: _zones_and_latest_begins,
}


@cache
def _definitions() -> tuple[str, ...]:
    """The statements that make today's tables and indexes in an empty SQLite store; SQLAlchemy writes them in 20 ms."""
    written: list[str] = []

    def write(definition: DDLElement, *_: Any, **__: Any) -> None:
        written.append(str(definition.compile(dialect=engine.dialect)))

    engine = create_mock_engine("sqlite://", write)
    schema.metadata.create_all(engine, checkfirst=False)
    return tuple(written)


def step_up(connection: Connection, version: int) -> None:
    """Take the steps that lead from a version to `SCHEMA_VERSION`. Those from 12 on are taken in both dialects."""
    for step in range(version, schema.SCHEMA_VERSION):
        if step not in STEPS:
            raise StoreFormatError(
                f"no migration leads from schema {step}; export with the version that wrote the store"
            )
        STEPS[step](connection)


def migrate(connection: Connection) -> None:
    """Bring a SQLite store to `SCHEMA_VERSION`. Call inside a write transaction."""
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if version == 0:
        for definition in _definitions():
            connection.exec_driver_sql(definition)
    else:
        _namespaces(connection)
    step_up(connection, version or schema.SCHEMA_VERSION)
    connection.exec_driver_sql(f"PRAGMA application_id={store_path.APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version={schema.SCHEMA_VERSION}")
