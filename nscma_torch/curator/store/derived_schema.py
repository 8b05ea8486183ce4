"""Tables for derived texts and for the runs that derived them.

A derived text can be recomputed from its sources. It is deleted when a source is hidden, changed or erased that it
cites or that was visible when it was written, and also when a derived text among its sources is deleted. Messages
behind those derived texts count as its sources, too. Search finds it by units of its kind that have its id as
`stream_id`.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Table

from nscma_torch.core.database.dialects import Integer, Text, Time
from nscma_torch.core.database.schema import metadata
from nscma_torch.semantic.store.fact_schema import fact_namespaces

derived_texts = Table(
    "derived_texts",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("namespace", Text, ForeignKey(fact_namespaces.c.id), nullable=False),
    Column("user_id", Text, nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("part", Text, nullable=False),  # the part it was derived from: a day, a session; "" for the whole namespace
    Column("number", Integer, nullable=False),  # its place among those of its part, from 0
    Column("text", Text, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("since", Time, nullable=False),  # when the first and the last of its messages were said
    Column("until", Time, nullable=False),
    Column("made_at", Time, nullable=False),
    Index("derived_texts_id", "id", unique=True),
    Index("derived_texts_part", "namespace", "kind", "part"),
)

derived_sources = Table(
    "derived_sources",
    metadata,
    Column("derived_seq", BigInteger, ForeignKey("derived_texts.seq"), primary_key=True, autoincrement=False),
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, index=True, autoincrement=False),
    Column("user_id", Text, nullable=False, index=True),
    Column("cited", Boolean, nullable=False),  # else it was only in view, and may show all the same
    sqlite_with_rowid=False,
)

# The derived texts that a derived text was made of, which were there before it.
derived_links = Table(
    "derived_links",
    metadata,
    Column("derived_seq", BigInteger, ForeignKey("derived_texts.seq"), primary_key=True, autoincrement=False),
    Column(
        "source_seq", BigInteger, ForeignKey("derived_texts.seq"), primary_key=True, index=True, autoincrement=False
    ),
    Column("user_id", Text, nullable=False, index=True),
    Column("cited", Boolean, nullable=False),
    sqlite_with_rowid=False,
)

# When a part was derived last, and from what: a part is derived again once `basis` is another.
derivations = Table(
    "derivations",
    metadata,
    Column("namespace", Text, ForeignKey(fact_namespaces.c.id), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("part", Text, primary_key=True),
    Column("user_id", Text, nullable=False, index=True),
    Column("basis", Text, nullable=False),  # hash of its sources
    Column("made_at", Time, nullable=False),
    sqlite_with_rowid=False,
)

# The texts for which a part left one of its own out, as they say the same: it is derived again once one of them goes.
derived_omissions = Table(
    "derived_omissions",
    metadata,
    Column("namespace", Text, ForeignKey(fact_namespaces.c.id), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("part", Text, primary_key=True),
    Column(
        "source_seq", BigInteger, ForeignKey("derived_texts.seq"), primary_key=True, index=True, autoincrement=False
    ),
    Column("user_id", Text, nullable=False, index=True),
    sqlite_with_rowid=False,
)

# In the order that references need.
DERIVED_TABLES = (derived_texts, derived_sources, derived_links, derivations, derived_omissions)
