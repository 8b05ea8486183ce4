"""Denials implied by exclusive symmetric relations: marrying someone ends any other marriage."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.store.statements import StatementRow


def implied_denials(rows: Iterable[StatementRow], schema: Schema) -> set[Key]:
    """Return the groups in which these statements imply denials: those of their objects, with the same exclusive
    relation.
    """
    return {
        Key(named, row.relation, row.topic)
        for row in rows
        if row.relation in schema and schema[row.relation].exclusive
        for named in (row.object_key, row.replaces_key)
        if named
    }


def partings(rows: Collection[StatementRow], keys: Collection[Key], schema: Schema) -> list[StatementRow]:
    """Return the denials in the groups `keys` that are implied by statements about the other side of the relation.

    "I am married to Ben" denies that I am still married to Ana, my former spouse; "I am divorced" denies it for any
    spouse. A denial takes its number, time, speaker and weight from the statement that implies it.
    """
    sides: dict[Key, set[str]] = {}
    for row in rows:
        sides.setdefault(row.key, set()).update(key.subject for key in implied_denials([row], schema))
    return [
        replace(row, subject=side, object="", object_key=row.subject, replaces="", replaces_key="", negated=True)
        for row in rows
        if _is_said_of_all(row)
        for side in sorted(sides[row.key] - {row.object_key})
        if Key(side, row.relation, row.topic) in keys
    ]


def _is_said_of_all(row: StatementRow) -> bool:
    """Return True if a statement names the only object that its subject now has, or states that there is none."""
    ended = row.past or row.valid_to is not None
    return not row.object_key if row.negated else bool(row.object_key) and not ended
