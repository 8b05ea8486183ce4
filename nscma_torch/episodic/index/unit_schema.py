"""Tables for units, with their sources, vectors and postings."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Table

from nscma_torch.core.database.dialects import Integer, Text, Time, Vector
from nscma_torch.core.database.schema import metadata

units = Table(
    "units",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("user_id", Text, ForeignKey("users.user_id"), nullable=False),
    Column("agent_id", Text),
    Column("run_id", Text),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("stream_id", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("session", Text),
    Column("role", Text, nullable=False),
    Column("name", Text),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("length", Integer, nullable=False),  # lexical terms
    Column("occurred_at", Time, nullable=False),
    Column("expires_at", Time),
    Column("importance", Float, nullable=False),
    Column("status", Text, nullable=False),
    Index("units_user", "user_id", "seq"),
    Index("units_stream", "stream_id", "position"),
)

unit_sources = Table(
    "unit_sources",
    metadata,
    Column("unit_seq", BigInteger, ForeignKey("units.seq"), primary_key=True),
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, index=True),
    Column("user_id", Text, nullable=False),
    sqlite_with_rowid=False,
)

vectors = Table(
    "vectors",
    metadata,
    Column("unit_seq", BigInteger, ForeignKey("units.seq"), primary_key=True, autoincrement=False),
    Column("user_id", Text, nullable=False, index=True),
    Column("vector", Vector, nullable=False),  # d float32, little-endian, unit length
)

postings = Table(
    "postings",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("term", Text, primary_key=True),
    Column("unit_seq", BigInteger, ForeignKey("units.seq"), primary_key=True, autoincrement=False),
    Column("tf", Integer, nullable=False),
    Index("postings_unit", "unit_seq"),
    sqlite_with_rowid=False,
)

# Units that were changed or removed; see `unit_changes`.
unit_changes = Table(
    "unit_changes",
    metadata,
    Column("user_id", Text, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("unit_seq", BigInteger, nullable=False),
    Index("unit_changes_user", "user_id", "generation"),
)
