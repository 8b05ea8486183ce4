"""Check the integrity of statements and facts: each has its sources, and no two contradict each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

from sqlalchemy import and_, case, func, or_, select

from nscma_torch.core.capabilities import RowQueries, strange_values, tables_with
from nscma_torch.core.database.json_columns import is_texts
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.database.schema import jobs as jobs_table
from nscma_torch.core.records import Action, FactStatus
from nscma_torch.episodic.index.unit_schema import unit_sources, units
from nscma_torch.semantic.store import fact_units, namespaces
from nscma_torch.semantic.store.decisions import LEFT_OPEN, NAMED_FACTS, OVERRULED, UPHELD, cited
from nscma_torch.semantic.store.fact_schema import (
    decisions,
    entities,
    fact_namespaces,
    fact_sources,
    facts,
    statements,
    unit_statements,
    unresolved,
)
from nscma_torch.semantic.store.statement_groups import CURATE
from nscma_torch.semantic.store.statements import id_of_columns

_F, _S, _L, _E, _D = facts.c, statements.c, fact_namespaces.c, entities.c, decisions.c


def problems(rows: RowQueries) -> Iterator[str]:
    """Yield the problems found in the facts, one sentence each."""
    yield from _owners(rows)
    yield from _statements(rows)
    yield from _entities(rows)
    yield from _facts(rows)
    yield from _overlaps(rows)
    yield from _waiting(rows)
    yield from _columns(rows)
    yield from _verdicts(rows)
    yield from _units(rows)


def _owners(rows: RowQueries) -> Iterator[str]:
    for row in rows(select(fact_namespaces), _L.user_id):
        if row.id != namespaces.namespace_id(row.user_id, row.agent_id):
            yield f"namespace {row.id} doesn't have the id derived from its user and agent"
    for table in tables_with("namespace"):
        if "user_id" in table.c:
            strange = (
                select(func.count())
                .join(fact_namespaces, table.c.namespace == _L.id)
                .where(table.c.user_id != _L.user_id)
            )
            n = rows(strange.select_from(table), table.c.user_id).scalar_one()
            if n:
                yield f"{n} {table.name} belong to another user's namespace"
    query = (
        select(_S.id)
        .join(episodes, episodes.c.seq == _S.episode_seq)
        .join(fact_namespaces, _L.id == _S.namespace)
        .where(
            or_(
                episodes.c.user_id != _L.user_id,
                func.coalesce(episodes.c.agent_id, "") != func.coalesce(_L.agent_id, ""),
            )
        )
    )
    for statement_id in rows(query, _S.user_id).scalars():
        yield f"statement {statement_id} belongs to a different user or agent than its message"
    query = (
        select(_F.id)
        .join(fact_sources, fact_sources.c.fact_seq == _F.seq)
        .join(statements, fact_sources.c.statement_seq == _S.seq)
        .where(or_(_F.namespace != _S.namespace, fact_sources.c.user_id != _F.user_id))
    )
    for fact_id in rows(query, _F.user_id).scalars():
        yield f"fact {fact_id} is based on a statement from another namespace"


def _statements(rows: RowQueries) -> Iterator[str]:
    query = select(_S.id, _S.start, _S.end, episodes.c.text).join(episodes, episodes.c.seq == _S.episode_seq)
    for row in rows(query.where(~_S.superseded), _S.user_id):
        if not 0 <= row.start <= row.end <= len(row.text):
            yield f"statement {row.id} is at {row.start}:{row.end}, outside its message"
    for statement_id in rows(select(_S.id).where(or_(_S.confidence <= 0, _S.confidence > 1)), _S.user_id).scalars():
        yield f"statement {statement_id} has a confidence outside (0, 1]"
    query = select(statements, episodes.c.id.label("message")).join(episodes, episodes.c.seq == _S.episode_seq)
    for row in rows(query, _S.user_id).mappings():
        if row["id"] != id_of_columns(row["message"], row):
            yield f"statement {row['id']} doesn't have the id derived from its message and words"


def _entities(rows: RowQueries) -> Iterator[str]:
    for column in (_S.subject, _S.object_key):
        query = select(column).outerjoin(entities, and_(_E.namespace == _S.namespace, _E.key == column)).distinct()
        for key in rows(query.where(column != "", _E.key.is_(None)), _S.user_id).scalars():
            yield f"entity {key!r} is mentioned but unknown"
    merged = {
        (namespace, key): into for namespace, key, into in rows(select(_E.namespace, _E.key, _E.canonical), _E.user_id)
    }
    for (namespace, key), into in merged.items():
        if into is not None and (namespace, into) not in merged:
            yield f"entity {key!r} was merged into {into!r}, which is unknown"
        seen = {key}
        while into is not None and into not in seen:
            seen.add(into)
            into = merged.get((namespace, into))
        if into == key:
            yield f"entity {key!r} was merged into itself"


def _facts(rows: RowQueries) -> Iterator[str]:
    """Check that every believed fact has a source that counts, unless its group is waiting to be resolved."""
    counts = case((and_(~_S.withdrawn, ~_S.superseded, episodes.c.status == "active"), 1), else_=0)
    waiting = and_(
        *(unresolved.c[name] == _F[name] for name in ("namespace", "subject", "relation", "topic")),
    )
    query = (
        select(_F.id)
        .outerjoin(fact_sources, fact_sources.c.fact_seq == _F.seq)
        .outerjoin(statements, _S.seq == fact_sources.c.statement_seq)
        .outerjoin(episodes, episodes.c.seq == _S.episode_seq)
        .outerjoin(unresolved, waiting)
        .where(_F.retired_at.is_(None), unresolved.c.namespace.is_(None))
        .group_by(_F.seq)
        .having(func.sum(counts) == 0)
    )
    for fact_id in rows(query, _F.user_id).scalars():
        yield f"fact {fact_id} is believed but has no supporting statement"
    query = select(_F.id).where(_F.valid_from > _F.valid_to)
    for fact_id in rows(query, _F.user_id).scalars():
        yield f"fact {fact_id} ends before it begins"
    query = select(_F.id).where(_F.retired_at.is_(None)).group_by(_F.id).having(func.count() > 1)
    for fact_id in rows(query, _F.user_id).scalars():
        yield f"fact {fact_id} is believed twice"


def _overlaps(rows: RowQueries) -> Iterator[str]:
    """Check that active facts don't overlap in time if they have the same group and object, or a single-object
    relation.
    """
    held: dict[tuple[str, ...], tuple[float, str]] = {}
    order = (
        _F.namespace,
        _F.subject,
        _F.relation,
        _F.topic,
        func.coalesce(_F.valid_from, -(2**62)),
        _F.sequence,
        _F.seq,
    )
    query = select(facts).where(_F.retired_at.is_(None), _F.status == "active").order_by(*order)
    for row in rows(query, _F.user_id):
        group = (
            row.namespace,
            row.subject,
            row.relation,
            row.topic,
            "" if row.relation in rows.single else row.object_key,
        )
        begins = float("-inf") if row.valid_from is None else row.valid_from
        ends = float("inf") if row.valid_to is None else row.valid_to
        until, other = held.get(group, (float("-inf"), ""))
        if other and begins < until:
            yield f"facts {other} and {row.id} are both active but exclude each other"
        if not other or ends > until:
            held[group] = (ends, row.id)


def _waiting(rows: RowQueries) -> Iterator[str]:
    job = and_(jobs_table.c.kind == CURATE, jobs_table.c.lane == unresolved.c.namespace)
    query = select(unresolved.c.namespace).outerjoin(jobs_table, job).where(jobs_table.c.seq.is_(None)).distinct()
    for namespace in rows(query, unresolved.c.user_id).scalars():
        yield f"namespace {namespace} has groups to resolve but no job for that"


def _columns(rows: RowQueries) -> Iterator[str]:
    """Check that columns contain only declared values."""
    yield from strange_values(rows, facts, "status", get_args(FactStatus))
    yield from strange_values(rows, decisions, "action", get_args(Action))
    for row in rows(select(_D.fact_ids, _D.before), _D.user_id):
        if not is_texts(row.fact_ids):
            yield f"decisions.fact_ids is not a list of texts: {row.fact_ids[:40]}"
        if not isinstance(_json(row.before), dict):
            yield f"decisions.before is not an object: {row.before[:40]}"


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _verdicts(rows: RowQueries) -> Iterator[str]:
    """Check that every statement named in a dispute verdict, or by a model, exists."""
    kinds = (OVERRULED, LEFT_OPEN, NAMED_FACTS)
    named = [_D.before.contains(f'"{name}"', autoescape=True) for name in kinds]
    query = select(_D.id, _D.before).where(or_(*named))
    found = [(key, _json(before)) for key, before in rows(query, _D.user_id)]
    known = set(rows(select(_S.id), _S.user_id).scalars()) if found else set()
    for key, before in found:
        if isinstance(before, dict) and not before.keys().isdisjoint(kinds):
            sides = before.get(LEFT_OPEN, before.get(NAMED_FACTS, [before.get(OVERRULED), before.get(UPHELD)]))
            if not isinstance(sides, list) or not all(is_texts(json.dumps(side)) for side in sides):
                yield f"decision {key} names no statements for its decision"
            elif gone := cited(before) - known:
                yield f"decision {key} names {len(gone)} statements that don't exist"


def _units(rows: RowQueries) -> Iterator[str]:
    """Check that units state statements from their own message, and that their status follows from the facts."""
    said = select(units.c.id).join(unit_statements, unit_statements.c.unit_seq == units.c.seq)
    said = said.join(statements, _S.seq == unit_statements.c.statement_seq)
    same = and_(unit_sources.c.unit_seq == units.c.seq, unit_sources.c.episode_seq == _S.episode_seq)
    stranger = or_(unit_sources.c.unit_seq.is_(None), unit_statements.c.user_id != units.c.user_id)
    for key in rows(said.outerjoin(unit_sources, same).where(stranger).distinct(), units.c.user_id).scalars():
        yield f"unit {key} states a statement from another message"
    waiting = select(unresolved.c.user_id)
    settled = fact_units.STANDING.where(units.c.user_id.not_in(waiting))
    for unit in fact_units.standings(rows.connection, rows(settled, units.c.user_id).all()):
        if unit.status != unit.wanted:
            yield f"unit {unit.id} is {unit.status}, but by its message and facts it should be {unit.wanted}"
