"""The store's schema in PostgreSQL: tables, sequences, row-level security, and grants."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text
from sqlalchemy.schema import CreateSchema, CreateSequence, Sequence

from nscma_torch.core.capabilities import all_tables
from nscma_torch.core.database import migrations
from nscma_torch.core.database.database import get_meta, sequence_of, set_meta
from nscma_torch.core.database.schema import SCHEMA_VERSION
from nscma_torch.core.errors import NotFoundError, StoreAccessError, StoreFormatError

_EPOCHS = "epochs"  # counter of `users.epoch`
_VERSION = "schema_version"  # in the table meta
_OWN_USER = "user_id = (SELECT current_setting('nscma.user_id', true))"
_ALL_USERS = "(SELECT current_setting('nscma.all_users', true)) = 'on'"
# Tables without a user column whose rows may name or quote one: the rows visible to a user's transaction.
_SHARED = {
    "meta": "key <> 'worker error'",
}

SIZE = text(
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relkind = 'r'"
)
ISOLATED_ROLE = text("SELECT rolname, NOT (rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname = current_user")


def prepare(connection: Connection, schema: str, name: str) -> None:
    """Create the schema if it is missing or empty; otherwise check and upgrade it. Call this inside a transaction.

    Raises `StoreFormatError`, `StoreVersionError` or `StoreAccessError`, and then changes nothing.
    """
    there = inspect(connection)
    if not there.has_schema(schema):
        connection.execute(CreateSchema(schema))
    tables = set(there.get_table_names(schema=schema))
    if not tables:
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        all_tables().create_all(connection)
    elif not {"meta", "episodes", "units"} <= tables:
        raise StoreFormatError(
            f"the schema of {name} contains tables of another program; name another schema with ?schema="
        )
    else:
        connection.exec_driver_sql("SELECT set_config('nscma.all_users', 'on', true)")
        version = int(get_meta(connection, _VERSION) or 0)
        if version == SCHEMA_VERSION:
            return
        migrations.upgrade(connection, name, version)
    for counter in (*_counters(), _EPOCHS):
        connection.execute(CreateSequence(Sequence(sequence_of(counter)), if_not_exists=True))
    set_meta(connection, _VERSION, str(SCHEMA_VERSION))
    _secure(connection)


def _counters() -> list[str]:
    """Return the names of all sequences: the row counters, and the sequences that columns use."""
    tables = all_tables().sorted_tables
    named = [column.info["counter"] for table in tables for column in table.c if "counter" in column.info]
    return [table.name for table in tables if "seq" in table.c] + named


def _secure(connection: Connection) -> None:
    """Enable row-level security on every table, including for the table's owner."""
    for table in all_tables().tables.values():
        own = _OWN_USER if "user_id" in table.c else _SHARED.get(table.name)
        if own is None:
            continue
        connection.exec_driver_sql(f'ALTER TABLE "{table.name}" ENABLE ROW LEVEL SECURITY')
        connection.exec_driver_sql(f'ALTER TABLE "{table.name}" FORCE ROW LEVEL SECURITY')
        connection.exec_driver_sql(f'DROP POLICY IF EXISTS own ON "{table.name}"')
        connection.exec_driver_sql(f'CREATE POLICY own ON "{table.name}" USING ({own} OR {_ALL_USERS})')


def grant(connection: Connection, role: str) -> None:
    """Let a role read and write the store, but not change its tables or its security.

    Raises `NotFoundError` for an unknown role, `StoreAccessError` for a role that bypasses row-level security.
    """
    query = text("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = :role")
    above = connection.execute(query, {"role": role}).scalar()
    if above is None:
        raise NotFoundError(f"there is no role {role!r}; create it with CREATE ROLE")
    if above:
        raise StoreAccessError(
            f"{role!r} is a superuser or has BYPASSRLS, so it would see every user's rows; use another role"
        )
    quoted = connection.dialect.identifier_preparer.quote_identifier
    to = quoted(role)
    schema = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
    vacuum = ", MAINTAIN" if (connection.dialect.server_version_info or ()) >= (17,) else ""
    for right in (
        f"USAGE ON SCHEMA {quoted(schema)}",
        f"SELECT, INSERT, UPDATE, DELETE{vacuum} ON ALL TABLES IN SCHEMA {quoted(schema)}",
        f"USAGE ON ALL SEQUENCES IN SCHEMA {quoted(schema)}",
    ):
        connection.exec_driver_sql(f"GRANT {right} TO {to}")
