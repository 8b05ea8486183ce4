"""An HNSW index over a PostgreSQL store's vectors of a given dimension, kept as 16-bit copies (halfvec).

Only `build` creates it, which takes long but blocks no writer. It must be run by the owner of the tables (`nscma
index`).
"""

from __future__ import annotations

from functools import cache

from sqlalchemy import Connection, TextClause, text

from nscma_torch.core.errors import StoreAccessError

_LEAST = (0, 8)  # version of pgvector that scans iteratively
_VERSION = text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
_OWN = (
    "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid "
    "JOIN pg_namespace n ON n.oid = t.relnamespace "
    "WHERE n.nspname = current_schema() AND t.relname = 'vectors' AND c.relname "
)
_VALID = text(f"SELECT i.indisvalid {_OWN} = :name")
_ALL = text(f"SELECT c.relname, i.indisvalid {_OWN} LIKE 'vectors\\_hnsw\\_%'")


def usable(connection: Connection, dimension: int) -> bool:
    """Return True if the index for vectors of this dimension exists. Raises `StoreAccessError` like `check_version`."""
    there = bool(connection.execute(_VALID, {"name": _name(dimension)}).scalar())
    if there:
        check_version(connection)
    return there


def check_version(connection: Connection) -> None:
    """Raise `StoreAccessError` if pgvector lacks iterative scans, without which row-level security hides results."""
    version = str(connection.execute(_VERSION).scalar())
    if tuple(int(part) for part in version.split(".")[:2]) < _LEAST:
        raise StoreAccessError(
            f"the server has pgvector {version}, and its vector index misses most of a user's units; update it "
            "to 0.8 (ALTER EXTENSION vector UPDATE), or set index.database_from to 0"
        )


@cache
def walk(dimension: int) -> TextClause:
    """Build the indexed query for a user's row numbers by increasing distance; it binds `:query` and `:user_id`."""
    return text(
        f"SELECT unit_seq FROM vectors WHERE user_id = :user_id AND vector_dims(vector) = {dimension} "
        f"ORDER BY vector::halfvec({dimension}) <#> CAST(:query AS halfvec({dimension}))"
    )


def build(connection: Connection, dimension: int, memory: str | None = None) -> bool:
    """Build the index for a dimension and drop indexes for other dimensions; return False if it already exists.

    `connection` must be in autocommit mode; its settings are changed. The remains of an interrupted build are replaced.
    `memory` sets PostgreSQL's `maintenance_work_mem`: if the index doesn't fit into it, the build takes many times
    longer.
    """
    check_version(connection)
    there: dict[str, bool] = {row.relname: row.indisvalid for row in connection.execute(_ALL)}
    own = _name(dimension)
    for name, valid in there.items():
        if name != own or not valid:
            connection.exec_driver_sql(f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"')
    if there.get(own):
        return False
    if memory is not None:
        connection.execute(text("SELECT set_config('maintenance_work_mem', :memory, false)"), {"memory": memory})
    # rows of another dimension, as between the old and the new ones of `reembed`, are not in it
    connection.exec_driver_sql(
        f'CREATE INDEX CONCURRENTLY "{own}" ON vectors USING hnsw ((vector::halfvec({dimension})) halfvec_ip_ops) '
        f"WHERE vector_dims(vector) = {dimension}"
    )
    return True


def _name(dimension: int) -> str:
    return f"vectors_hnsw_{dimension}"
