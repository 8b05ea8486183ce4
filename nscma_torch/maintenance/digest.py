"""Compute a memory's digest, which is equal for two stores given the same input.

It covers the data that the capabilities declare: first table columns, then the owners of units, then other lines. It
excludes system times, job rows, access counts, row numbers, vectors, and link weights, because these are cosines whose
last bits depend on which texts were embedded in the same batch. Other floats are rounded to six decimals.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sqlalchemy import Connection, select

from nscma_torch.core.capabilities import RowQueries, capabilities
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.text.files.file_keys import without_place


def digest(connection: Connection, user_id: str | None = None) -> str:
    """Return the SHA-256, in hex, of the logical state of one user or of all users."""
    sha = hashlib.sha256()
    rows = RowQueries(connection, None if user_id is None else (user_id,))
    for capability in capabilities():
        for table, names in capability.digest_columns.items():
            order = (table.c.id,) if "seq" in table.c else tuple(table.primary_key.columns)
            query = select(*(table.c[name] for name in names)).order_by(*order)
            for row in rows(query.execution_options(yield_per=1024), table.c.user_id):
                values = row._asdict()
                if values.get("idempotency_key"):
                    values["idempotency_key"] = without_place(values["idempotency_key"])
                if values.get("decision"):
                    values["decision"] = decoded(values["decision"])
                sha.update(_canonical(table.name, *values.values()))
    for capability in capabilities():
        for name, query in capability.digest_units.items():
            for row in rows(query.execution_options(yield_per=1024), units.c.user_id):
                sha.update(_canonical(name, *row))
    for capability in capabilities():
        for line in capability.digest(rows):
            sha.update(_canonical(*line))
    return sha.hexdigest()


def _canonical(*values: Any) -> bytes:
    return json.dumps([_rounded(value) for value in values], ensure_ascii=False).encode() + b"\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in sorted(value.items())}
    return value
