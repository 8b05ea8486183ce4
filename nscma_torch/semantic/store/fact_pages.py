"""Paged lists of facts by subject, and the facts around one entity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select, tuple_, union_all

from nscma_torch.core.database.clock import optional_from_micros
from nscma_torch.core.database.database import PAGE, pages
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.records import Fact, Scope
from nscma_torch.semantic.store import entities, namespaces
from nscma_torch.semantic.store.fact_schema import fact_sources, facts, statements
from nscma_torch.semantic.store.facts import fitting, known
from nscma_torch.text.names import name_key

_F = facts.c


class Entity(NamedTuple):
    """An entity that is the subject or object of facts, and the number of those facts."""

    name: str
    facts: int


@dataclass(frozen=True, slots=True)
class Around:
    """The facts around an entity, and its name; `facts` are the most recently believed out of `total`."""

    name: str
    facts: Sequence[Fact]
    total: int


def subjects(
    connection: Connection,
    scope: Scope,
    *,
    limit: int,
    offset: int,
    text: str = "",
    changed: bool = False,
    known_at: int | None = None,
) -> tuple[list[list[Fact]], int]:
    """Return groups of facts that share subject, relation and topic, latest change first, and the number of groups.

    Args:
        text: only groups with this text in the subject, relation, topic or an object.
        changed: only groups with more than one fact.
        known_at: facts as believed at this time (microseconds); None for now.
    """
    clauses = [_F.namespace.in_(namespaces.of_scope(connection, scope)), known(known_at)]
    group = (_F.namespace, _F.subject, _F.relation, _F.topic)
    query = select(*group, func.max(_F.recorded_at).label("latest")).where(*clauses).group_by(*group)
    if text.strip():
        columns = (_F.subject, _F.relation, _F.topic, _F.object_key)
        hit = or_(*(column.contains(name_key(text), autoescape=True) for column in columns))
        query = query.where(tuple_(*group).in_(select(*group).where(*clauses, hit)))
    if changed:
        query = query.having(func.count() > 1)
    total = _size(connection, query)
    order = (func.max(_F.recorded_at).desc(), func.max(_F.valid_from).desc().nulls_last(), *group)
    rows = connection.execute(query.order_by(*order).limit(limit).offset(offset)).all()
    found: dict[tuple[str, ...], list[Fact]] = {}
    for row in rows:
        one = and_(_F.subject == row.subject, _F.relation == row.relation, _F.topic == row.topic)
        found[tuple(row[:4])] = fitting(connection, row.namespace, one, known(known_at))
    return list(found.values()), total


@dataclass(frozen=True, slots=True)
class Extent:
    """The time range in which facts hold in the world, where known, and the time since which any was believed."""

    begin: datetime | None
    end: datetime | None
    recorded: datetime | None


def extent(connection: Connection, scope: Scope) -> Extent:
    """Return the extent of all facts in a scope, including those no longer believed."""
    times = func.min(_F.valid_from), func.max(func.coalesce(_F.valid_to, _F.valid_from)), func.min(_F.recorded_at)
    query = select(*times).where(_F.namespace.in_(namespaces.of_scope(connection, scope)))
    return Extent(*map(optional_from_micros, connection.execute(query).one()))


def names(connection: Connection, scope: Scope, *, limit: int, offset: int, text: str = "") -> tuple[list[Entity], int]:
    """Return the entities in current facts, those with the most facts first, and the number of entities."""
    counted = _mentions(connection, scope).subquery()
    query = select(counted.c.key, func.count().label("facts")).group_by(counted.c.key)
    if text.strip():
        query = query.where(counted.c.key.contains(name_key(text), autoescape=True))
    rows = connection.execute(query.order_by(func.count().desc(), counted.c.key).limit(limit).offset(offset)).all()
    known_as: dict[str, str] = {}
    for namespace in namespaces.of_scope(connection, scope):
        known_as |= entities.names(connection, namespace)
    return [Entity(known_as.get(row.key, row.key), row.facts) for row in rows], _size(connection, query)


def around(
    connection: Connection, scope: Scope, name: str, *, limit: int, further: int, as_of: int | None = None
) -> Around:
    """Return at most `limit` facts about an entity, and at most `further` facts among its neighbours and beyond.

    Args:
        as_of: select facts that held at this time (microseconds), regardless of their status since; None for current
            facts.
    """
    own = [_standing(as_of), known(None)]
    found: list[Fact] = []
    total, known_as = 0, name
    for namespace in namespaces.of_scope(connection, scope):
        key = entities.canonical(connection, namespace).get(name_key(name), name_key(name))
        here = [_F.namespace == namespace, *own]
        at = or_(_F.subject == key, _F.object_key == key)
        total += connection.execute(select(func.count()).select_from(facts).where(*here, at)).scalar_one()
        near = connection.execute(
            select(_F.seq, _F.subject, _F.object_key)
            .where(*here, at)
            .order_by(_F.recorded_at.desc(), _F.seq)
            .limit(limit)
        ).all()
        neighbours = {one for row in near for one in (row.subject, row.object_key)} - {key}
        seqs = [row.seq for row in near] + _beyond(connection, here, key, neighbours, further)
        found += fitting(connection, namespace, _F.seq.in_(seqs[:PAGE]))
        known_as = entities.names(connection, namespace).get(key, known_as)
    return Around(known_as, found, total)


def of_messages(connection: Connection, scope: Scope, message_ids: Collection[str]) -> list[Fact]:
    """Return the facts in a scope that these messages support, including archived ones."""
    told = select(fact_sources.c.fact_seq).join(statements, statements.c.seq == fact_sources.c.statement_seq)
    told = told.join(episodes, episodes.c.seq == statements.c.episode_seq).where(episodes.c.user_id == scope.user_id)
    found: dict[str, Fact] = {}
    for some in pages(sorted(message_ids)):
        supported = _F.seq.in_(told.where(episodes.c.id.in_(some)))
        for namespace in namespaces.of_scope(connection, scope):
            found |= {fact.id: fact for fact in fitting(connection, namespace, supported, known(None))}
    return list(found.values())


def _beyond(
    connection: Connection, here: Sequence[ColumnElement[bool]], key: str, neighbours: Collection[str], most: int
) -> list[int]:
    """Return row numbers of facts about the neighbours, evenly distributed; facts between two neighbours come first."""
    if not neighbours or not most:
        return []
    some = sorted(neighbours)[:PAGE]
    ends = _F.subject.in_(some), _F.object_key.in_(some)
    rows = connection.execute(
        select(_F.seq, _F.subject, _F.object_key)
        .where(*here, or_(*ends), _F.subject != key, _F.object_key != key)
        .order_by(and_(*ends).desc(), _F.recorded_at.desc(), _F.seq)
        .limit(PAGE)
    ).all()
    share, taken, seqs = max(1, most // len(some)), Counter[str](), []
    for row in rows:
        both = row.subject in neighbours and row.object_key in neighbours
        end = row.subject if row.subject in neighbours else row.object_key
        if both or taken[end] < share:
            taken[end] += not both
            seqs.append(row.seq)
    return seqs[:most]


def _mentions(connection: Connection, scope: Scope) -> Select[Any]:
    within = (_F.namespace.in_(namespaces.of_scope(connection, scope)), known(None), _standing(None))
    both = union_all(*(select(column.label("key")).where(*within) for column in (_F.subject, _F.object_key))).subquery()
    return select(both.c.key)


def _standing(as_of: int | None) -> ColumnElement[bool]:
    if as_of is None:
        return _F.status != "archived"
    begun = or_(_F.valid_from.is_(None), _F.valid_from <= as_of)
    return and_(begun, or_(_F.valid_to.is_(None), _F.valid_to > as_of))


def _size(connection: Connection, query: Select[Any]) -> int:
    return int(connection.execute(select(func.count()).select_from(query.subquery())).scalar_one())
