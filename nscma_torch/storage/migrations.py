"""Numbered migrations. A new store gets today's tables at once; an older one is brought up step by step.

To change the schema: change `schema.py`, raise `SCHEMA_VERSION`, add one function to `STEPS`, and keep a store of the
old version in `tests/storage/schemas/`. All steps of one opening run in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from nscma_torch.errors import StoreFormatError
from nscma_torch.storage import schema


def _jobs_leases_recalls(connection: Connection) -> None:
    """1 to 2: background work. Episodes that the gate let through are queued, as if they had just been added."""
    for table in (schema.jobs, schema.leases, schema.recalls):
        table.create(connection)
    connection.exec_driver_sql(
        "INSERT INTO jobs (seq, user_id, kind, episode_seq, state, attempts) "
        "SELECT row_number() OVER (ORDER BY seq), user_id, 'extract', seq, 'queued', 0 FROM episodes "
        "WHERE write AND NOT encoded AND status = 'active'"
    )
    connection.exec_driver_sql("INSERT INTO counters (name, value) SELECT 'jobs', count(*) + 1 FROM jobs")
    connection.exec_driver_sql(
        "INSERT INTO counters (name, value) SELECT 'epochs', coalesce(max(epoch), 0) + 1 FROM users"
    )


STEPS: dict[int, Callable[[Connection], None]] = {1: _jobs_leases_recalls}


def migrate(connection: Connection) -> None:
    """Bring the store to `SCHEMA_VERSION`. Call inside a write transaction."""
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if version == 0:
        schema.metadata.create_all(connection)
    for step in range(version or schema.SCHEMA_VERSION, schema.SCHEMA_VERSION):
        if step not in STEPS:
            raise StoreFormatError(
                f"no migration leads from schema {step}; export with the version that wrote the store"
            )
        STEPS[step](connection)
    connection.exec_driver_sql(f"PRAGMA application_id={schema.APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version={schema.SCHEMA_VERSION}")
