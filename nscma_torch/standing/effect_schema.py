"""The table of effects between messages."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Table

from nscma_torch.core.database.dialects import Text
from nscma_torch.core.database.schema import metadata

# How a later message bears on an earlier one; see `standings`. A row is derived from the texts, or told by the caller.
message_effects = Table(
    "message_effects",
    metadata,
    Column("earlier_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, autoincrement=False),
    Column("later_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, index=True, autoincrement=False),
    Column("user_id", Text, nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("probability", Float, nullable=False),
    Column("told", Boolean, nullable=False),  # by the caller (`depends_on`), not read from the texts
    sqlite_with_rowid=False,
)
