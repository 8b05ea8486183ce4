"""The status of units that state statements (triples, atomic facts): searchable unless all their facts are archived.

The status of such a unit is a function of its message and of the facts believed now. While the message is hidden, the
unit has the message's status. Otherwise it is archived if the message has faded out of search, or if its statements
support only archived facts (NSCMA: an archived fact has no weight at inference); in all other cases it is active. A
unit without known statements, or whose statements support no fact, stays searchable with its message.

With `curator.rule = "model"` a statement's operation matters as well (mem0). A statement is not searchable, as if its
facts were archived, if its operation was undone, or if the operation stores nothing while a fact that it names still
counts. An UPDATE with a merged text has its own unit, which is based on both messages and replaces the new statement's
other units.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, and_, case, exists, func, select

from nscma_torch.core.database.database import pages
from nscma_torch.core.database.schema import episodes
from nscma_torch.episodic.index import units
from nscma_torch.episodic.index.unit_schema import unit_sources
from nscma_torch.episodic.index.unit_schema import units as units_table
from nscma_torch.episodic.index.units import NewUnit
from nscma_torch.semantic.store import decisions, statements
from nscma_torch.semantic.store.decisions import MERGED_TEXT, NAMED_FACTS, STORES, DecisionRow
from nscma_torch.semantic.store.fact_schema import fact_sources, facts, unit_statements
from nscma_torch.semantic.store.fact_schema import statements as statements_table
from nscma_torch.semantic.store.statements import StatementRow

_U, _L = units_table.c, unit_statements.c
_MERGED = 0  # `end` of units that hold a merged text; every other one ends behind its first character


class WantedStatus(NamedTuple):
    """A unit that states statements: its current status, and the status it should have."""

    seq: int
    id: str
    status: str
    wanted: str


def link(connection: Connection, user_id: str, said: Iterable[tuple[int, int]]) -> None:
    """Record which units state which statements, as pairs of row numbers. Call `follow` in the same transaction."""
    rows = [{"unit_seq": unit, "statement_seq": statement, "user_id": user_id} for unit, statement in sorted(set(said))]
    if rows:
        connection.execute(unit_statements.insert(), rows)


def follow(connection: Connection, statement_seqs: Iterable[int]) -> None:
    """Update the status of units that state these statements, after facts or messages have changed.

    Call `streams.touch_user` in the same transaction.
    """
    changed: dict[str, list[int]] = {}
    for some in pages(sorted(set(statement_seqs))):
        own = select(_L.unit_seq).where(_L.statement_seq.in_(some))
        for unit in standings(connection, connection.execute(STANDING.where(_U.seq.in_(own))).all()):
            if unit.status != unit.wanted:
                changed.setdefault(unit.wanted, []).append(unit.seq)
    for status, seqs in sorted(changed.items()):
        units.set_status(connection, sorted(set(seqs)), status)


def standings(connection: Connection, rows: Sequence[Row[Any]]) -> Iterator[WantedStatus]:
    """Yield the standing of each unit in rows selected by `STANDING`."""
    operations = _governing(connection, {row.statement_seq for row in rows})
    counting = _counting(connection, operations.values())
    spoken = _with_merged_unit(connection, {seq for seq, one in operations.items() if MERGED_TEXT in one.before})

    def is_silent(row: Row[Any]) -> bool:
        operation = operations.get(row.statement_seq)
        if operation is None:
            return False
        if operation.record.undone:
            return True
        if MERGED_TEXT in operation.before:
            speaks = row.statement_seq in spoken and _stands(operation, counting)
            return speaks != bool(row.end == _MERGED)
        named = operation.before.get(NAMED_FACTS, ())
        return not operation.before[STORES] and (not named or any(not counting.isdisjoint(ids) for ids in named))

    for seq, links in groupby(rows, key=lambda row: row.seq):
        said = list(links)
        silent = [is_silent(row) for row in said]
        resting = any(quiet or row.resting for quiet, row in zip(silent, said, strict=True))
        living = any(not quiet and row.living for quiet, row in zip(silent, said, strict=True))
        unit = said[0]
        wanted = unit.of_message
        if wanted == "active" and (not unit.shown or (resting and not living)):
            wanted = "archived"
        yield WantedStatus(seq, unit.id, unit.status, wanted)


def merged_texts(connection: Connection, namespace: str, statement_seqs: Collection[int]) -> dict[int, str]:
    """Return the merged text of each given statement that has one, provided that all merged statements still count."""
    wanted = set(statement_seqs)
    found = [one for one in decisions.merging(connection, namespace) if one.statement_seq in wanted]
    counting = _counting(connection, found)
    return {one.statement_seq or 0: one.before[MERGED_TEXT] for one in found if _stands(one, counting)}


class Merge(NamedTuple):
    """A merged text that has no unit yet: the new statement, and the statements behind the facts merged with it."""

    text: str
    row: StatementRow
    behind: tuple[StatementRow, ...]


def unspoken_merges(connection: Connection, namespace: str) -> list[Merge]:
    """Return the merged texts in a namespace that have no unit yet, for statements that count."""
    found = {one.statement_seq or 0: one for one in decisions.merging(connection, namespace)}
    missing = found.keys() - _with_merged_unit(connection, found.keys())
    rows = {row.seq: row for row in statements.by_seqs(connection, namespace, missing)}
    merges = []
    for seq in sorted(rows):
        ids = {one for own in found[seq].before[NAMED_FACTS] for one in own}
        behind = tuple(statements.by_ids(connection, namespace, ids))
        if _stands(found[seq], {row.id for row in behind}):
            merges.append(Merge(found[seq].before[MERGED_TEXT], rows[seq], behind))
    return merges


def add_merged(connection: Connection, user_id: str, made: Sequence[tuple[Merge, Sequence[NewUnit]]]) -> None:
    """Store the units for merged texts. Call `streams.touch_user` in the same transaction."""
    said = []
    for merge, new in made:
        placed = [replace(unit, start=_MERGED, end=_MERGED) for unit in new]
        seqs = units.insert(connection, placed)
        units.add_sources(
            connection, user_id, seqs, {row.episode_seq for row in merge.behind} - {merge.row.episode_seq}
        )
        said += [(seq, merge.row.seq) for seq in seqs]
    link(connection, user_id, said)
    follow(connection, [statement for _, statement in said])


def _governing(connection: Connection, statement_seqs: Collection[int]) -> dict[int, DecisionRow]:
    """Return the operations that decide whether search finds these statements, by statement row number."""
    found = decisions.operations(connection, statement_seqs)
    return {seq: one for seq, one in found.items() if STORES in one.before}


def _counting(connection: Connection, operations: Iterable[DecisionRow]) -> set[str]:
    """Return the ids of the statements named by these operations that still count."""
    named: dict[str, set[str]] = {}
    for one in operations:
        named.setdefault(one.namespace, set()).update(*one.before.get(NAMED_FACTS, ()))
    return {row.id for namespace, ids in named.items() for row in statements.by_ids(connection, namespace, ids)}


def _stands(operation: DecisionRow, counting: Collection[str]) -> bool:
    """Return True if every merged fact still has a statement that counts."""
    return all(any(one in counting for one in ids) for ids in operation.before[NAMED_FACTS])


def _with_merged_unit(connection: Connection, statement_seqs: Collection[int]) -> set[int]:
    """Return the statements that have a unit for a merged text."""
    query = select(_L.statement_seq).join(units_table, _U.seq == _L.unit_seq).where(_U.end == _MERGED)
    return {
        seq
        for some in pages(sorted(statement_seqs))
        for seq in connection.execute(query.where(_L.statement_seq.in_(some))).scalars()
    }


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
            *(_U.seq, _U.id, _U.end, _U.status, _L.statement_seq),
            *(episodes.c.status.label("of_message"), shown.label("shown")),
            *(func.count(facts.c.seq).label("resting"), living.label("living")),
        )
        .select_from(units_table)
        .join(unit_statements, _L.unit_seq == _U.seq)
        .join(statements_table, statements_table.c.seq == _L.statement_seq)
        .join(episodes, episodes.c.seq == statements_table.c.episode_seq)
        .outerjoin(fact_sources, fact_sources.c.statement_seq == _L.statement_seq)
        .outerjoin(facts, believed)
        .group_by(_U.seq, _L.statement_seq, episodes.c.seq)
        .order_by(_U.seq, _L.statement_seq)
    )


STANDING = _standing()  # of all units that say statements; narrow it by columns of `units`
