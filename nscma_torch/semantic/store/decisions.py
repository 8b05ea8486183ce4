"""The log of the curator's decisions, each with the data needed to undo it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from sqlalchemy import ColumnElement, Connection, exists, func, or_, select, tuple_

from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.database import next_seqs, pages
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.records import Action, CuratorDecision, Scope
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.semantic.store import namespaces
from nscma_torch.semantic.store.fact_schema import decisions, statements
from nscma_torch.semantic.store.statement_groups import Key

OVERRULED, UPHELD = "overruled", "upheld"  # keys of `before`: ids of the statements of two sides of a dispute
LEFT_OPEN = "left_open"  # key of `before`: ids of the statements of each side of an undecided dispute
# keys of `before`: what a model chose for a statement, and ids of the statements behind each fact that it named
OPERATION, NAMED_FACTS = "operation", "named_facts"
# keys of `before` under `curator.rule = "model"`: whether the operation stores what is new; the merged text of UPDATE
STORES, MERGED_TEXT = "stores", "merged_text"
EARLY = "early"  # key of `before`: the clock was ahead when it was made
REFUSED = "REFUSED"  # an operation: the model's choice was unusable


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A decision to log.

    `statement_seq` is the statement that caused it; None if it was made during sleep or by hand. `before` contains the
    data needed to undo it, as JSON values: ids and keys, never row numbers, because an import reassigns those. Text
    must be erasable: a merged text is deleted when any statement listed under `NAMED_FACTS` is.
    """

    action: Action
    subject: str
    relation: str
    topic: str
    object: str
    reason: str
    statement_seq: int | None
    fact_ids: tuple[str, ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A logged decision, including columns that the public record omits."""

    seq: int
    namespace: str
    user_id: str
    statement_seq: int | None
    before: Mapping[str, Any]
    record: CuratorDecision

    @property
    def key(self) -> Key:
        """Return the decision's group."""
        return Key(self.record.subject, self.record.relation, self.record.topic)


_D = decisions.c


def insert(connection: Connection, namespace: str, user_id: str, new: Sequence[NewDecision], at: int) -> list[str]:
    """Log decisions; return their ids, derived from the namespace and the decision's content."""
    if not new:
        return []
    said: dict[int, str] = {}
    for some in pages(sorted({one.statement_seq for one in new if one.statement_seq is not None})):
        query = select(statements.c.seq, statements.c.id).where(statements.c.seq.in_(some))
        said.update((seq, statement_id) for seq, statement_id in connection.execute(query))
    seqs = next_seqs(connection, decisions.name, len(new))
    rows: dict[str, dict[str, Any]] = {}
    for seq, one in zip(seqs, new, strict=True):
        before = json.dumps(dict(one.before), sort_keys=True, ensure_ascii=False)
        what = (one.action, one.subject, one.relation, one.topic, one.object, said.get(one.statement_seq or 0), before)
        key = _new_id(connection, rows, namespace, *what)
        rows[key] = {
            "seq": seq,
            "id": key,
            "namespace": namespace,
            "user_id": user_id,
            "at": at,
            "action": one.action,
            "subject": one.subject,
            "relation": one.relation,
            "topic": one.topic,
            "object": one.object,
            "reason": one.reason,
            "statement_seq": one.statement_seq,
            "fact_ids": json.dumps(one.fact_ids),
            "before": before,
            "undone": False,
        }
    connection.execute(decisions.insert(), list(rows.values()))
    return list(rows)


def _new_id(connection: Connection, taken: Collection[str], *parts: object) -> str:
    ids = (derive_id("decision", *parts, again) for again in count())
    return next(
        i for i in ids if i not in taken and connection.execute(select(_D.seq).where(_D.id == i)).first() is None
    )


def select_decisions(
    connection: Connection,
    scope: Scope,
    *,
    limit: int | None = None,
    actions: Collection[Action] | None = None,
    undone: bool | None = None,
) -> list[CuratorDecision]:
    """Return the decisions in a scope, newest first; `undone` selects either undone decisions or the others."""
    query = select(decisions).where(
        _D.user_id == scope.user_id, _D.namespace.in_(namespaces.of_scope(connection, scope))
    )
    if actions is not None:
        query = query.where(_D.action.in_(sorted(actions)))
    if undone is not None:
        query = query.where(_D.undone.is_(undone))
    rows = connection.execute(query.order_by(_D.seq.desc()).limit(limit)).mappings()
    return [_from_row(row).record for row in rows]


def page(
    connection: Connection,
    scope: Scope,
    *,
    limit: int,
    offset: int,
    changes: bool = False,
    fact: Collection[str] = (),
    proposals: bool = False,
) -> tuple[list[CuratorDecision], int]:
    """Return one page of a scope's decisions, newest first, and the total number of decisions.

    Args:
        changes: omit decisions that only added a fact or found that it was already known.
        fact: only decisions on one of the facts with these ids.
        proposals: only proposals that were neither accepted nor dismissed.
    """
    query = select(decisions).where(
        _D.user_id == scope.user_id, _D.namespace.in_(namespaces.of_scope(connection, scope))
    )
    if changes:
        query = query.where(_D.action.not_in(("ADD", "NOOP")))
    if fact:
        query = query.where(or_(*(_D.fact_ids.contains(f'"{one}"', autoescape=True) for one in fact)))
    if proposals:
        query = query.where(_D.action == "PROPOSE", _D.undone.is_(False), ~_accepted())
    total = connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()
    rows = connection.execute(query.order_by(_D.seq.desc()).limit(limit).offset(offset)).mappings()
    return [_from_row(row).record for row in rows], int(total)


def _accepted() -> ColumnElement[bool]:
    """Build the condition that a merge of a proposal's two names stands."""
    made = decisions.alias()
    both = (made.c[name] == _D[name] for name in ("namespace", "subject", "object"))
    return exists(select(made.c.seq).where(made.c.action == "MERGE", made.c.undone.is_(False), *both))


def find(connection: Connection, user_id: str, decision_id: str) -> DecisionRow | None:
    """Return the user's decision with this id."""
    query = select(decisions).where(_D.user_id == user_id, _D.id == decision_id)
    row = connection.execute(query).mappings().first()
    return None if row is None else _from_row(row)


def later(connection: Connection, decision: DecisionRow) -> list[DecisionRow]:
    """Return the later decisions in the same namespace that were not undone, oldest first."""
    query = select(decisions).where(_D.namespace == decision.namespace, _D.seq > decision.seq, _D.undone.is_(False))
    return [_from_row(row) for row in connection.execute(query.order_by(_D.seq)).mappings()]


def decided(connection: Connection, statement_seqs: Collection[int]) -> set[int]:
    """Return the given statements (row numbers) that have a decision, undone or not."""
    found: set[int] = set()
    for some in pages(sorted(statement_seqs)):
        query = select(_D.statement_seq).where(_D.statement_seq.in_(some)).distinct()
        found.update(seq for seq in connection.execute(query).scalars() if seq is not None)
    return found


def operations(connection: Connection, statement_seqs: Collection[int]) -> dict[int, DecisionRow]:
    """Return, for each of these statements, the last decision with a model's operation; undone refusals are skipped.

    Keys are the statements' row numbers.
    """
    found: dict[int, DecisionRow] = {}
    for some in pages(sorted(set(statement_seqs))):
        query = select(decisions).where(_D.statement_seq.in_(some)).where(_holds(OPERATION)).order_by(_D.seq)
        for row in map(_from_row, connection.execute(query).mappings()):
            assert row.statement_seq is not None
            if not (row.record.undone and row.before[OPERATION] == REFUSED):
                found[row.statement_seq] = row
    return found


def naming_facts(connection: Connection, namespace: str) -> list[DecisionRow]:
    """Return a namespace's decisions in which a model's operation named facts, oldest first, including undone
    decisions.
    """
    query = select(decisions).where(_D.namespace == namespace, _holds(NAMED_FACTS)).order_by(_D.seq)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def merging(connection: Connection, namespace: str) -> list[DecisionRow]:
    """Return a namespace's decisions whose UPDATE merged texts, oldest first, except undone decisions."""
    query = select(decisions).where(_D.namespace == namespace, _D.undone.is_(False), _holds(MERGED_TEXT))
    return [_from_row(row) for row in connection.execute(query.order_by(_D.seq)).mappings()]


def _holds(name: str) -> ColumnElement[bool]:
    """Build the condition that a decision's `before` contains this key."""
    return _D.before.contains(f'"{name}"', autoescape=True)


def overrulings(connection: Connection, namespace: str, keys: Collection[Key]) -> list[DecisionRow]:
    """Return the decisions on these groups that overruled statements, oldest first, including undone ones."""
    return _naming(connection, namespace, keys, OVERRULED)


def left_open(connection: Connection, namespace: str, keys: Collection[Key]) -> list[DecisionRow]:
    """Return the decisions on these groups that left a dispute open, oldest first, except undone ones."""
    return [one for one in _naming(connection, namespace, keys, LEFT_OPEN) if not one.record.undone]


def _naming(connection: Connection, namespace: str, keys: Collection[Key], name: str) -> list[DecisionRow]:
    """Return the decisions on these groups with this key in `before`."""
    found: list[DecisionRow] = []
    for some in pages(sorted(set(keys))):
        query = select(decisions).where(_D.namespace == namespace, tuple_(_D.subject, _D.relation, _D.topic).in_(some))
        query = query.where(_holds(name))
        found += [_from_row(row) for row in connection.execute(query).mappings()]
    return sorted(found, key=lambda decision: decision.seq)


def citing(connection: Connection, namespace: str, statement_ids: Iterable[str]) -> list[DecisionRow]:
    """Return the dispute decisions and model decisions that name one of these statements, including undone ones."""
    wanted = set(statement_ids)
    naming = or_(_D.statement_seq.is_(None), _holds(NAMED_FACTS))
    query = select(decisions).where(_D.namespace == namespace, naming).order_by(_D.seq)
    rows = map(_from_row, connection.execute(query).mappings()) if wanted else ()
    return [row for row in rows if not wanted.isdisjoint(cited(row.before))]


def cited(before: Mapping[str, Any]) -> set[str]:
    """Return the ids of the statements named in a decision's `before`."""
    sides = (
        before.get(OVERRULED, ()),
        before.get(UPHELD, ()),
        *before.get(LEFT_OPEN, ()),
        *before.get(NAMED_FACTS, ()),
    )
    return {one for side in sides for one in side}


def mark_early(connection: Connection, decision: DecisionRow) -> None:
    """Mark a decision as reverted because it was made by a fast clock; it is ignored from then on."""
    before = json.dumps({**decision.before, EARLY: True}, sort_keys=True, ensure_ascii=False)
    connection.execute(decisions.update().where(_D.seq == decision.seq).values(undone=True, before=before))


def mark_undone(connection: Connection, seq: int) -> None:
    """Mark a decision as undone."""
    connection.execute(decisions.update().where(_D.seq == seq).values(undone=True))


def _from_row(row: Mapping[Any, Any]) -> DecisionRow:
    record = CuratorDecision(
        id=row["id"],
        at=from_micros(row["at"]),
        action=row["action"],
        subject=row["subject"],
        relation=row["relation"],
        object=row["object"],
        topic=row["topic"],
        reason=row["reason"],
        fact_ids=tuple(decoded(row["fact_ids"], list)),
        undone=row["undone"],
    )
    return DecisionRow(
        row["seq"], row["namespace"], row["user_id"], row["statement_seq"], decoded(row["before"]), record
    )
