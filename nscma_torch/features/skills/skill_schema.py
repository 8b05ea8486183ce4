"""Table for skills."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table

from nscma_torch.core.database.dialects import Integer, Json, Text, Time
from nscma_torch.core.database.schema import metadata
from nscma_torch.semantic.store.fact_schema import numbered, of_namespace

skills = Table(
    "skills",
    metadata,
    *numbered(),
    *of_namespace(),
    Column("name", Text, nullable=False),
    Column("trigger", Text, nullable=False),
    Column("steps", Json, nullable=False),
    Column("successes", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("recorded_at", Time, nullable=False),
    Column("updated_at", Time, nullable=False),
    Column("status", Text, nullable=False),
    Index("skills_id", "id", unique=True),
)
