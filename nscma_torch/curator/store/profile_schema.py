"""Table for profiles; see `profiles`."""

from __future__ import annotations

from sqlalchemy import Column, Table

from nscma_torch.core.database.dialects import Integer, Json, Text
from nscma_torch.core.database.schema import metadata
from nscma_torch.semantic.store.fact_schema import of_namespace

profile = Table(
    "profile",
    metadata,
    *of_namespace(primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Column("day", Text, nullable=False),  # ISO 8601
    Column("sources", Json, nullable=False),  # ids of facts
)
