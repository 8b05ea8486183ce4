"""Tables of the store, in SQLAlchemy Core. Times are integer microseconds since the epoch, UTC.

Every row has a `user_id`; message and unit rows have the whole scope. `seq` numbers come from `counters`, increase with
every insert and are never reused, so a reader catches up by asking for larger numbers. Capabilities declare further
tables in their own schema modules; see `core.capabilities`.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
)

from nscma_torch.core.database.dialects import Integer, Json, Text, Time

SCHEMA_VERSION = 15

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
    Column("generation", BigInteger, nullable=False),  # rises with every write of this user, also after an erasure
    Column("epoch", BigInteger, nullable=False),  # rises when existing messages changed
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
    Column("metadata", Json, nullable=False),
    Column("idempotency_key", Text),
    Column("occurred_at", Time),  # null if the caller gave none: recorded_at is used
    Column("recorded_at", Time, nullable=False),
    Column("expires_at", Time),
    Column("status", Text, nullable=False),
    Column("write", Boolean),  # the gate's decision; null where it was not asked (infer=False)
    Column("decision", Json),  # rule, score, threshold, reason, parts
    Column("observation", Json),  # the gate's observation, for replay under other rules
    Column("encoded", Boolean, nullable=False),
    Column("importance", Float, nullable=False),
    Column("strength", Float, nullable=False),
    Column("accesses", Integer, nullable=False),
    Column("utc_offset", Integer),  # seconds, of `occurred_at`; null: none was given, days are those of UTC
    UniqueConstraint("user_id", "idempotency_key"),
    UniqueConstraint("stream_id", "position"),
    Index("episodes_user", "user_id", "seq"),
    Index("episodes_text_hash", "user_id", "text_hash"),
)

history = Table(
    "history",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("user_id", Text, nullable=False),
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), nullable=False, index=True),
    Column("event", Text, nullable=False),
    Column("at", Time, nullable=False),
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
    Column(
        "lane", Text, nullable=False
    ),  # id of the stream, hierarchy or namespace of facts: its jobs are worked on together
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq")),  # null: the lane as a whole
    Column("state", Text, nullable=False),  # queued | failed; a finished job's row is gone
    Column("attempts", Integer, nullable=False),
    Column("error", Text),
    UniqueConstraint("kind", "episode_seq"),
    Index("jobs_lane", "kind", "lane", "state"),
    Index("jobs_state", "state", "seq"),
)

# Who does which work of a user, and until when; see `leases`. Each user has a row of each name.
user_leases = Table(
    "user_leases",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("owner", Text),  # null: no holder
    Column("until", Time, nullable=False),  # 0: nobody
    Column("done_at", BigInteger),  # of sleep: the time of the last scheduled one
    Index("user_leases_until", "name", "until"),
    sqlite_with_rowid=False,
)

# Background workers; see `worker_health`.
workers = Table(
    "workers",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("at", Time, nullable=False),  # of its last sign of life
    Column("until", Time, nullable=False),  # when it counts as dead without another one
    Column("state", Text, nullable=False),
)

# The last error of background work for each user; it may quote the user's messages.
work_errors = Table(
    "work_errors",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("at", Time, nullable=False),
    Column("error", Text, nullable=False),
)

recalls = Table(
    "recalls",
    metadata,
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, autoincrement=False),
    Column("user_id", Text, nullable=False),
    Column("count", Integer, nullable=False),
)

# Summaries that can be recomputed from their sources: those of an integration that has not been committed yet,
# and the rolling summary of each stream (its id stands for the hierarchy). Whatever hides or erases text of a user
# deletes them.
drafts = Table(
    "drafts",
    metadata,
    Column("hierarchy_id", Text, primary_key=True),
    Column("key", Text, primary_key=True),  # hash of the summarised text
    Column("user_id", Text, nullable=False, index=True),
    Column("text", Text, nullable=False),
    sqlite_with_rowid=False,
)
