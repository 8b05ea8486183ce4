"""Facts with belief time and world time: rows are added and retired, never changed, so past beliefs stay available.

A row is believed from `recorded_at` until `retired_at`; it holds in the world from `valid_from` until `valid_to`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select, tuple_

from nscma_torch.core.database.clock import from_micros, optional_from_micros
from nscma_torch.core.database.database import next_seqs, pages
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Fact, FactStatus, Scope
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.semantic.store import entities, fact_units, namespaces
from nscma_torch.semantic.store.fact_schema import fact_sources, facts, statements
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.store.statements import counting

FORGETTING = "forgetting"  # a value of `archived_by`


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    """A fact to store, with times in microseconds. `statement_seqs` are its supporting statements."""

    subject: str
    relation: str
    topic: str
    object: str
    object_key: str
    valid_from: int | None
    valid_to: int | None
    status: FactStatus
    confidence: float
    strength: int
    sequence: int
    ended: int | None
    reason: str
    statement_seqs: tuple[int, ...]
    archived_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRow(NewFact):
    """A current or past belief, with times in microseconds."""

    seq: int
    id: str
    namespace: str
    user_id: str
    recorded_at: int
    retired_at: int | None

    @property
    def key(self) -> Key:
        """Return the fact's group."""
        return Key(self.subject, self.relation, self.topic)

    def new(self) -> NewFact:
        """Return the fact as it was inserted, without the values assigned by the store."""
        return NewFact(**{f.name: getattr(self, f.name) for f in fields(NewFact)})


_F, _S = facts.c, statements.c
_COLUMNS = [_F[f.name] for f in fields(FactRow) if f.name != "statement_seqs"]


def believed(connection: Connection, namespace: str, keys: Collection[Key]) -> list[FactRow]:
    """Return the current beliefs in these groups, including archived facts; each group is ordered by valid time."""
    found: list[FactRow] = []
    for some in pages(sorted(set(keys))):
        group = tuple_(_F.subject, _F.relation, _F.topic)
        found += _rows(connection, _F.namespace == namespace, _F.retired_at.is_(None), group.in_(some))
    return found


def current(connection: Connection, namespace: str) -> list[FactRow]:
    """Return the facts in a namespace that are believed now and not archived."""
    return _rows(connection, _F.namespace == namespace, _F.retired_at.is_(None), _F.status != "archived")


def by_ids(connection: Connection, user_id: str, ids: Collection[str]) -> list[FactRow]:
    """Return the user's currently believed facts with these ids; retired facts are skipped."""
    found: list[FactRow] = []
    for some in pages(sorted(set(ids))):
        found += _rows(connection, _F.user_id == user_id, _F.retired_at.is_(None), _F.id.in_(some))
    return found


def holding(connection: Connection, statement_seqs: Collection[int]) -> set[int]:
    """Return the statements that support a fact which is active now and has no end."""
    found: set[int] = set()
    for some in pages(sorted(set(statement_seqs))):
        query = select(fact_sources.c.statement_seq).join(facts, _F.seq == fact_sources.c.fact_seq)
        query = query.where(_F.retired_at.is_(None), _F.status == "active", _F.valid_to.is_(None))
        found.update(connection.execute(query.where(fact_sources.c.statement_seq.in_(some))).scalars())
    return found


def retire(connection: Connection, seqs: Collection[int], at: int) -> None:
    """Retire these rows, which are believed until `at`."""
    for some in pages(sorted(seqs)):
        rows = facts.update().where(_F.seq.in_(some), _F.retired_at.is_(None))
        connection.execute(rows.values(retired_at=at))


def insert(connection: Connection, namespace: str, user_id: str, new: Sequence[NewFact], at: int) -> list[FactRow]:
    """Store facts that are believed from `at` on. A fact's id derives from its group, its object and its first
    statement.

    Raises `InvalidInputError` for a fact that has no statements or ends before it begins.
    """
    if not new:
        return []
    first_said = _first_said(connection, new)
    seqs = next_seqs(connection, facts.name, len(new))
    rows = [
        FactRow(
            **{f.name: getattr(fact, f.name) for f in fields(fact)},
            seq=seqs[i],
            id=derive_id("fact", namespace, fact.subject, fact.relation, fact.topic, fact.object_key, first_said[i]),
            namespace=namespace,
            user_id=user_id,
            recorded_at=at,
            retired_at=None,
        )
        for i, fact in enumerate(new)
    ]
    connection.execute(facts.insert(), [{c.name: getattr(row, c.name) for c in _COLUMNS} for row in rows])
    sources = [
        {"fact_seq": row.seq, "statement_seq": seq, "user_id": user_id}
        for row in rows
        for seq in dict.fromkeys(row.statement_seqs)
    ]
    connection.execute(fact_sources.insert(), sources)
    return rows


def count(connection: Connection, user_id: str | None = None) -> dict[str, int]:
    """Count the facts believed now, by status."""
    query = select(_F.status, func.count()).where(_F.retired_at.is_(None)).group_by(_F.status)
    if user_id is not None:
        query = query.where(_F.user_id == user_id)
    return {row[0]: row[1] for row in connection.execute(query)}


def _first_said(connection: Connection, new: Sequence[NewFact]) -> list[str]:
    """Return the id of the first statement supporting each fact."""
    order: dict[int, tuple[int, int, int, str]] = {}
    for some in pages(sorted({seq for fact in new for seq in fact.statement_seqs})):
        query = select(_S.seq, _S.said_at, _S.episode_seq, _S.start, _S.id).where(_S.seq.in_(some))
        order.update({row.seq: (row.said_at, row.episode_seq, row.start, row.id) for row in connection.execute(query)})
    for fact in new:
        if not fact.statement_seqs:
            raise InvalidInputError("a fact needs a supporting statement; nothing was stored")
        if fact.valid_from is not None and fact.valid_to is not None and fact.valid_from > fact.valid_to:
            raise InvalidInputError("a fact cannot end before it begins; nothing was stored")
    return [min(order[seq] for seq in fact.statement_seqs)[-1] for fact in new]


def archive(connection: Connection, seqs: Collection[int], *, by: str, reason: str, at: int) -> list[FactRow]:
    """Archive current facts for a reason that no statement gives.

    Returns their new rows, which have the same ids. The curator must keep them archived when it resolves their
    statements again. Units that state these facts are updated, so call `streams.touch_user` in the same transaction.
    """
    made: list[FactRow] = []
    for some in pages(sorted(seqs)):
        old = _rows(connection, _F.seq.in_(some), _F.retired_at.is_(None))
        retire(connection, [row.seq for row in old], at)
        for row in old:
            archived = replace(row.new(), status="archived", archived_by=by, reason=reason)
            made += insert(connection, row.namespace, row.user_id, [archived], at)
    fact_units.follow(connection, [seq for row in made for seq in row.statement_seqs])
    return made


def _rows(connection: Connection, *clauses: ColumnElement[bool]) -> list[FactRow]:
    order = (_F.subject, _F.relation, _F.topic, func.coalesce(_F.valid_from, _NEVER), _F.sequence, _F.seq)
    found = [dict(row) for row in connection.execute(select(*_COLUMNS).where(*clauses).order_by(*order)).mappings()]
    sources: dict[int, list[int]] = {}
    for some in pages([row["seq"] for row in found]):
        query = select(fact_sources.c.fact_seq, fact_sources.c.statement_seq).where(fact_sources.c.fact_seq.in_(some))
        for fact, statement in connection.execute(query.order_by(*query.selected_columns)):
            sources.setdefault(fact, []).append(statement)
    return [FactRow(**row, statement_seqs=tuple(sources.get(row["seq"], ()))) for row in found]


_NEVER = -(2**62)  # before every time


def select_facts(
    connection: Connection,
    scope: Scope,
    *,
    subjects: Collection[str] | None = None,
    relations: Collection[str] | None = None,
    ids: Collection[str] | None = None,
    as_of: int | None = None,
    known_at: int | None = None,
    statuses: Collection[str] = ("active", "disputed"),
) -> list[Fact]:
    """Return the facts in a scope, with names as first spelled, ordered by subject, relation and valid time.

    Args:
        subjects: the subjects' keys, including keys of merged entities; None for all.
        ids: ids of facts; None for all.
        as_of: select facts that held at this time (microseconds), regardless of their status since; includes archived
            facts.
        known_at: select facts as believed at this time (microseconds); None for now.
        statuses: the statuses to include if there is no `as_of`.
    """
    clauses: list[ColumnElement[bool]] = [known(known_at)]
    if as_of is None:
        clauses.append(_F.status.in_(sorted(statuses)))
    else:
        begun, ended = or_(_F.valid_from.is_(None), _F.valid_from <= as_of), _F.valid_to <= as_of
        clauses += [begun, or_(_F.valid_to.is_(None), ~ended)]
    if relations is not None:
        clauses.append(_F.relation.in_(sorted(relations)))
    if ids is not None:
        clauses.append(_F.id.in_(sorted(ids)))
    if scope.run_id is not None:
        clauses.append(_said(episodes.c.run_id == scope.run_id))
    found: list[Fact] = []
    for namespace in namespaces.of_scope(connection, scope):
        into = entities.canonical(connection, namespace)
        own = [*clauses, _F.namespace == namespace]
        if subjects is not None:
            own.append(_F.subject.in_(sorted({*subjects, *(into.get(key, key) for key in subjects)})))
        found += _records(connection, namespace, _rows(connection, *own))
    return found


def fitting(connection: Connection, namespace: str, *clauses: ColumnElement[bool]) -> list[Fact]:
    """Return a namespace's facts that meet conditions on the table, ordered by subject, relation and valid time."""
    return _records(connection, namespace, _rows(connection, _F.namespace == namespace, *clauses))


def known(known_at: int | None) -> ColumnElement[bool]:
    """Build the condition that a fact is believed at this time (microseconds).

    None means now: facts from a hidden or edited message stop counting at once, before the curator derives them again.
    """
    if known_at is None:
        return and_(_F.retired_at.is_(None), _said(counting()))
    return and_(_F.recorded_at <= known_at, func.coalesce(_F.retired_at, known_at + 1) > known_at)


def _said(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Build the condition that one of the fact's statements, joined with its message, meets another condition."""
    told = select(_S.seq).join(fact_sources, fact_sources.c.statement_seq == _S.seq)
    told = told.join(episodes, episodes.c.seq == _S.episode_seq)
    return exists(told.where(fact_sources.c.fact_seq == _F.seq, condition))


def _records(connection: Connection, namespace: str, rows: Sequence[FactRow]) -> list[Fact]:
    names = entities.names(connection, namespace)
    scope = namespaces.owner(connection, namespace)
    said: dict[int, str] = {}
    zones: dict[int, int] = {}  # of statements, and the times that they begin at
    begins: dict[int, tuple[int | None, int]] = {}
    for some in pages(sorted({seq for row in rows for seq in row.statement_seqs})):
        query = select(_S.seq, episodes.c.id, episodes.c.utc_offset, _S.valid_from, _S.said_at)
        query = query.join(episodes, episodes.c.seq == _S.episode_seq).where(_S.seq.in_(some))
        for seq, episode_id, offset, valid_from, said_at in connection.execute(query):
            said[seq] = episode_id
            if offset:
                zones[seq], begins[seq] = offset, (valid_from, said_at)

    def zone(row: FactRow) -> int | None:
        """Return the UTC offset of the statement that starts a fact, or else of its first statement."""
        told = (seq for seq in row.statement_seqs if seq in begins and row.valid_from in begins[seq])
        return zones.get(next(told, min(row.statement_seqs)))

    return [
        Fact(
            id=row.id,
            scope=scope,
            subject=names.get(row.subject, row.subject),
            relation=row.relation,
            object=names.get(row.object_key, row.object),
            topic=row.topic,
            valid_from=optional_from_micros(row.valid_from, zone(row)),
            valid_to=optional_from_micros(row.valid_to, zone(row)),
            recorded_at=from_micros(row.recorded_at),
            retired_at=optional_from_micros(row.retired_at),
            status=row.status,
            confidence=row.confidence,
            strength=row.strength,
            sequence=row.sequence,
            ended=row.ended,
            episode_ids=tuple(dict.fromkeys(said[seq] for seq in row.statement_seqs)),
            reason=row.reason,
        )
        for row in rows
    ]
