"""Tables for structured records, which describe messages.

A record is derived from its message and the turns before it: reading the message again replaces the record, and editing
or erasing any of these messages deletes it. Hidden messages keep their records, which are hidden too.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table

from nscma_torch.core.database.dialects import Integer, Text
from nscma_torch.core.database.schema import metadata

memory_records = Table(
    "memory_records",
    metadata,
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, autoincrement=False),
    Column("user_id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("sentiment", Text),  # null: unclear
    Column("resolution", Text, nullable=False),  # as the message itself has it; see `record_resolutions`
    Index("memory_records_user", "user_id", "type"),
)

record_entities = Table(
    "record_entities",
    metadata,
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),  # 0 is the one that weighs most
    Column("user_id", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("name", Text, nullable=False),  # as written
    Index("record_entities_key", "user_id", "key"),
    sqlite_with_rowid=False,
)

# Later messages that settle a message's question, problem or plan. A row is derived from the later one.
record_resolutions = Table(
    "record_resolutions",
    metadata,
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, autoincrement=False),
    Column("by_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, index=True, autoincrement=False),
    Column("user_id", Text, nullable=False, index=True),
    sqlite_with_rowid=False,
)

# In the order that references need.
RECORD_TABLES = (memory_records, record_entities, record_resolutions)
