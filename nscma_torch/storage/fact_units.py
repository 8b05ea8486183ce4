"""The status of units that state statements (triples, atomic facts): in search unless all their facts are archived.

The status of such a unit is a function of its message and of the facts that are believed now: that of the message
while it is hidden; else archived where the message has faded out of search, or where its statements stand behind facts
and all of those are archived (NSCMA: an archived fact weighs nothing at inference); else active. Where nothing is known
of a unit's statements, or no fact rests on them, it stays in search with its message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, and_, case, exists, func, select

from nscma_torch.storage import units
from nscma_torch.storage.database import pages
from nscma_torch.storage.fact_schema import fact_sources, facts, statements, unit_statements
from nscma_torch.storage.schema import episodes, unit_sources
from nscma_torch.storage.schema import units as units_table

_U, _L = units_table.c, unit_statements.c


class Standing(NamedTuple):
    """A unit that says what statements say: the status that it has, and the one that it should have."""

    seq: int
    id: str
    status: str
    wanted: str


def link(connection: Connection, user_id: str, said: Iterable[tuple[int, int]]) -> None:
    """Note which units say which statements: pairs of row numbers. Call `follow` in the same transaction."""
    rows = [{"unit_seq": unit, "statement_seq": statement, "user_id": user_id} for unit, statement in sorted(set(said))]
    if rows:
        connection.execute(unit_statements.insert(), rows)


def follow(connection: Connection, statement_seqs: Iterable[int]) -> None:
    """Set the status of the units that say these statements, after facts or messages changed.

    Call `streams.touch_user` in the same transaction.
    """
    changed: dict[str, list[int]] = {}
    for some in pages(sorted(set(statement_seqs))):
        own = select(_L.unit_seq).where(_L.statement_seq.in_(some))
        for unit in standings(connection.execute(STANDING.where(_U.seq.in_(own)))):
            if unit.status != unit.wanted:
                changed.setdefault(unit.wanted, []).append(unit.seq)
    for status, seqs in sorted(changed.items()):
        units.set_status(connection, sorted(set(seqs)), status)


def standings(rows: Iterable[Row[Any]]) -> Iterator[Standing]:
    """The standing of each row of `STANDING`."""
    for row in rows:
        wanted = row.of_message
        if wanted == "active" and (not row.shown or (row.resting and not row.living)):
            wanted = "archived"
        yield Standing(row.seq, row.id, row.status, wanted)


def _standing() -> Select[Any]:
    chunk, of_chunk = units_table.alias(), unit_sources.alias()
    shown = exists(
        select(chunk.c.seq)
        .join(of_chunk, of_chunk.c.unit_seq == chunk.c.seq)
        .where(of_chunk.c.episode_seq == episodes.c.seq, chunk.c.kind == "chunk", chunk.c.status == "active")
    )
    believed = and_(facts.c.seq == fact_sources.c.fact_seq, facts.c.retired_at.is_(None))
    living = func.sum(case((facts.c.status != "archived", 1), else_=0))
    return (
        select(
            *(_U.seq, _U.id, _U.status, episodes.c.status.label("of_message"), shown.label("shown")),
            *(func.count(facts.c.seq).label("resting"), living.label("living")),
        )
        .select_from(units_table)
        .join(unit_statements, _L.unit_seq == _U.seq)
        .join(statements, statements.c.seq == _L.statement_seq)
        .join(episodes, episodes.c.seq == statements.c.episode_seq)
        .outerjoin(fact_sources, fact_sources.c.statement_seq == _L.statement_seq)
        .outerjoin(facts, believed)
        .group_by(_U.seq, episodes.c.seq)
        .order_by(_U.seq)
    )


STANDING = _standing()  # of all units that say statements; narrow it by columns of `units`
