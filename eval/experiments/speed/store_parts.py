"""Bytes of a store by what they are for: log, units, vectors, postings, facts, hierarchy, and all else."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from nscma_torch.doctor.rates import PARTS
from nscma_torch.storage import fact_schema

STREAMS = "streams"  # counted apart from the log: one row a conversation, and not a message
_TABLES = {
    "log": ("episodes", "history", "recalls"),
    "units": ("units", "unit_sources", "unit_changes"),
    "vectors": ("vectors",),
    "postings": ("postings",),
    "facts": tuple(table.name for table in fact_schema.TABLES),
    "hierarchy": ("hierarchies", "nodes", "node_units", "personas", "links", "drafts"),
    STREAMS: ("streams",),
}
_PART = {table: part for part, tables in _TABLES.items() for table in tables}


def parts_of_file(path: Path) -> dict[str, int]:
    """Of an SQLite file that no process has open; tables with their indexes, free pages among the rest."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        table_of = dict(connection.execute("SELECT name, tbl_name FROM sqlite_master"))
        sizes = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    connection.close()
    tables: Counter[str] = Counter()
    for name, size in sizes.items():
        tables[table_of.get(name, name)] += size
    found = _by_part(tables)
    found["other"] += path.stat().st_size - sum(sizes.values())
    return found


def parts_of_schema(address: str, schema: str) -> dict[str, int]:
    """Of a store in PostgreSQL; tables with their indexes and long values."""
    import psycopg

    query = (
        "SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relkind = 'r'"
    )
    with psycopg.connect(address) as connection:
        return _by_part(dict(connection.execute(query, (schema,)).fetchall()))


def _by_part(tables: Mapping[str, int]) -> dict[str, int]:
    found = dict.fromkeys((*PARTS, STREAMS), 0)
    for table, size in tables.items():
        found[_PART.get(table, "other")] += size
    return found
