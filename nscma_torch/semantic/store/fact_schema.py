"""Tables for statements, facts and decisions.

Statements are the evidence; facts are a function of the statements. A namespace contains the memory for one user and
agent: every row belongs to one. Subjects and objects are identified by their `text.names.name_key`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Table

from nscma_torch.core.database.dialects import Integer, Json, Text, Time
from nscma_torch.core.database.schema import metadata

fact_namespaces = Table(
    "fact_namespaces",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.user_id"), nullable=False, index=True),
    Column("agent_id", Text),
)


def of_namespace(*, primary_key: bool = False) -> list[Column[Any]]:
    """Return the columns for a row's namespace and user."""
    return [
        Column("namespace", Text, ForeignKey("fact_namespaces.id"), primary_key=primary_key, nullable=False),
        Column("user_id", Text, nullable=False, index=True),
    ]


def numbered() -> list[Column[Any]]:
    """Return the columns for a row's number and id."""
    return [Column("seq", BigInteger, primary_key=True, autoincrement=False), Column("id", Text, nullable=False)]


entities = Table(
    "entities",
    metadata,
    *of_namespace(primary_key=True),
    Column("key", Text, primary_key=True),
    Column("name", Text, nullable=False),  # as it was first written
    Column("canonical", Text),  # key of the entity that it was merged into
)

statements = Table(
    "statements",
    metadata,
    *numbered(),
    *of_namespace(),
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), nullable=False, index=True),
    Column("start", Integer, nullable=False),  # offsets in the episode's text
    Column("end", Integer, nullable=False),
    Column("subject", Text, nullable=False),  # key
    Column("subject_name", Text, nullable=False),  # as written, like `object` and `replaces`
    Column("relation", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("object_key", Text, nullable=False),
    Column("replaces", Text, nullable=False),
    Column("replaces_key", Text, nullable=False),
    Column("negated", Boolean, nullable=False),
    Column("correction", Boolean, nullable=False),
    Column("past", Boolean, nullable=False),
    Column("valid_from", Time),
    Column("valid_to", Time),
    Column("said_at", Time, nullable=False),
    Column("speaker", Text, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("withdrawn", Boolean, nullable=False),  # the decision that took it in was undone
    Column("superseded", Boolean, nullable=False),  # the message was edited, and does not say it any more
    Column("begun_by", Time),  # the latest time at which it began; null: it holds when it is said
    Index("statements_id", "id", unique=True),
    Index("statements_group", "namespace", "subject", "relation"),
    Index("statements_subject", "namespace", "subject", "said_at", "episode_seq", "start"),
    Index("statements_object", "namespace", "object_key", "said_at", "episode_seq", "start"),
)

# What a triple or an atomic fact says, where that is known; see `fact_units`.
unit_statements = Table(
    "unit_statements",
    metadata,
    Column("unit_seq", BigInteger, ForeignKey("units.seq"), primary_key=True, autoincrement=False),
    Column("statement_seq", BigInteger, ForeignKey("statements.seq"), primary_key=True, index=True),
    Column("user_id", Text, nullable=False, index=True),
    sqlite_with_rowid=False,
)

unresolved = Table(
    "unresolved",
    metadata,
    *of_namespace(primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("relation", Text, primary_key=True),
    Column("topic", Text, primary_key=True),
)

# Each row was believed from `recorded_at` to `retired_at`; a fact that changes keeps its id in its next row.
facts = Table(
    "facts",
    metadata,
    *numbered(),
    *of_namespace(),
    Column("subject", Text, nullable=False),  # key
    Column("relation", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("object_key", Text, nullable=False),
    Column("valid_from", Time),  # null: unknown
    Column("valid_to", Time),  # null: still
    Column("status", Text, nullable=False),
    Column("archived_by", Text, nullable=False),  # reason for archiving, other than statements: "forgetting"
    Column("confidence", Float, nullable=False),
    Column("strength", Integer, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("recorded_at", Time, nullable=False),
    Column("retired_at", Time),  # null: believed now
    Column("ended", Integer),  # like `sequence`, of what ended it; null: still, or not known
    Index("facts_group", "namespace", "subject", "relation", "topic"),
    Index("facts_object", "namespace", "object_key"),
    Index("facts_id", "id"),
)

fact_sources = Table(
    "fact_sources",
    metadata,
    Column("fact_seq", BigInteger, ForeignKey("facts.seq"), primary_key=True, autoincrement=False),
    Column("statement_seq", BigInteger, ForeignKey("statements.seq"), primary_key=True, index=True),
    Column("user_id", Text, nullable=False, index=True),
    sqlite_with_rowid=False,
)

decisions = Table(
    "decisions",
    metadata,
    *numbered(),
    *of_namespace(),
    Column("at", Time, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("relation", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("statement_seq", BigInteger, ForeignKey("statements.seq"), index=True),
    Column("fact_ids", Json, nullable=False),
    Column("before", Json, nullable=False),  # what undo needs; ids and keys, no row numbers
    Column("undone", Boolean, nullable=False),
    Index("decisions_id", "id", unique=True),
    Index("decisions_group", "namespace", "subject", "relation", "topic"),
)
