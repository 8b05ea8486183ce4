"""Tables for hierarchies: nodes, their units, and the links in each level."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Table

from nscma_torch.core.database.dialects import Integer, Json, Text
from nscma_torch.core.database.schema import metadata

VERSIONS = "hierarchy_versions"  # counter of versions: none is given out twice

hierarchies = Table(
    "hierarchies",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.user_id"), nullable=False, index=True),
    Column("agent_id", Text),
    Column("version", BigInteger, nullable=False, info={"counter": VERSIONS}),  # compare-and-set
    Column("next_ids", Json, nullable=False),  # JSON: for each level, the smallest id never given to a persona
)


def _of_level(*key: str, of_unit: tuple[Column[Any], ...] = ()) -> list[Column[Any]]:
    """Return columns that identify a row's level in a hierarchy; ids in `key` are numbers within that level.

    Primary key columns come first, because SQLite's integrity check otherwise fails on tables without rowid.
    """
    return [
        Column("hierarchy_id", Text, ForeignKey("hierarchies.id"), primary_key=True),
        Column("level", Integer, primary_key=True, autoincrement=False),
        *(Column(name, BigInteger, primary_key=True, autoincrement=False) for name in key),
        *of_unit,
        Column("user_id", Text, nullable=False, index=True),
    ]


# A node of level 0 is a chunk, one above is a cluster of personas of the level below: those labelled with its number.
nodes = Table("nodes", metadata, *_of_level("number"), sqlite_with_rowid=False)

# What a node says: its chunk, or its summary in one unit or more. A node without a unit waits for the next integration:
# on level 0 to be taken out, above to be summarised.
node_units = Table(
    "node_units",
    metadata,
    *_of_level(
        "number",
        of_unit=(
            Column("unit_seq", BigInteger, ForeignKey("units.seq"), primary_key=True, autoincrement=False, index=True),
        ),
    ),
    sqlite_with_rowid=False,
)

personas = Table(
    "personas",
    metadata,
    *_of_level("id"),
    Column("node", BigInteger, nullable=False),
    Column("label", BigInteger, nullable=False),
    Index("personas_label", "hierarchy_id", "level", "label"),
    Index("personas_node", "hierarchy_id", "level", "node"),
    sqlite_with_rowid=False,
)

links = Table(
    "links",
    metadata,
    *_of_level("a", "b"),  # a < b
    Column("weight", Float, nullable=False),
    Column("persona_a", BigInteger, nullable=False),  # the persona of a that faces b
    Column("persona_b", BigInteger, nullable=False),
    Column("cut", Boolean, nullable=False),  # holds no cluster together any more
    sqlite_with_rowid=False,
)
