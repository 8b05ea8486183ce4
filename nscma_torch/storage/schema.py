"""Tables of the store, in SQLAlchemy Core. Times are integer microseconds since the epoch, UTC.

Every row carries its `user_id`; rows of the log and the units carry the whole scope. `seq` numbers come from
`counters`, rise with every insert and are never given out twice, so that a reader catches up by asking for larger
ones.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = 2
APPLICATION_ID = 0x4E53434D  # "NSCM" in the file's header: tells a store from any other SQLite file

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

counters = Table(
    "counters",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("generation", BigInteger, nullable=False),  # rises with every write of this user
    Column("epoch", BigInteger, nullable=False),  # rises when existing units changed: derived indexes reload
)

streams = Table(
    "streams",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.user_id"), nullable=False, index=True),
    Column("agent_id", Text),
    Column("run_id", Text),
    Column("source", Text),
    Column("next_position", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),  # compare-and-set
    Column("proxy_fingerprint", Text),
    Column("proxy_state", LargeBinary),
    Column("gate_state", Text),
)

episodes = Table(
    "episodes",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("user_id", Text, ForeignKey("users.user_id"), nullable=False),
    Column("agent_id", Text),
    Column("run_id", Text),
    Column("stream_id", Text, ForeignKey("streams.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("name", Text),
    Column("session", Text),
    Column("text", Text, nullable=False),
    Column("text_hash", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("idempotency_key", Text),
    Column("occurred_at", BigInteger),  # null where the caller gave none: recorded_at stands in
    Column("recorded_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("status", Text, nullable=False),
    Column("write", Boolean),  # the gate's decision; null where it was not asked (infer=False)
    Column("decision", Text),  # JSON: rule, score, threshold, reason, parts
    Column("observation", Text),  # JSON: what the gate saw, for replay under other rules
    Column("encoded", Boolean, nullable=False),
    Column("importance", Float, nullable=False),
    Column("strength", Float, nullable=False),
    Column("accesses", Integer, nullable=False),
    UniqueConstraint("user_id", "idempotency_key"),
    UniqueConstraint("stream_id", "position"),
    Index("episodes_user", "user_id", "seq"),
    Index("episodes_text_hash", "user_id", "text_hash"),
)

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
    Column("occurred_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("importance", Float, nullable=False),
    Column("status", Text, nullable=False),
    Index("units_user", "user_id", "seq"),
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
    Column("vector", LargeBinary, nullable=False),  # d float32, little-endian, unit length
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

history = Table(
    "history",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("user_id", Text, nullable=False),
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), nullable=False, index=True),
    Column("event", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("old_text", Text),
    Column("new_text", Text),
    Column("reason", Text),
)

jobs = Table(
    "jobs",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("user_id", Text, nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), nullable=False),
    Column("state", Text, nullable=False),  # queued | failed; a finished job's row is gone
    Column("attempts", Integer, nullable=False),
    Column("error", Text),
    UniqueConstraint("kind", "episode_seq"),
    Index("jobs_state", "state", "seq"),
)

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("until", BigInteger, nullable=False),
)

recalls = Table(
    "recalls",
    metadata,
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, autoincrement=False),
    Column("user_id", Text, nullable=False),
    Column("count", Integer, nullable=False),
)
