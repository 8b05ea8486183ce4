"""Merge entities by their stated names ("my name is Ana"): a pure function of the statements, independent of their
order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import Connection

from nscma_torch.core.records import Action
from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.store import decisions, entities, facts, namespaces, statements
from nscma_torch.semantic.store.decisions import DecisionRow, NewDecision
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.store.statements import StatementRow
from nscma_torch.semantic.timeline.claims import Rules
from nscma_torch.semantic.timeline.grouping import NAMED, groups_of, object_of
from nscma_torch.semantic.timeline.name_merging import MERGED, merged, standing
from nscma_torch.semantic.timeline.resolve_claims import resolve


class Name(NamedTuple):
    """The key of a name, the key of the entity it names, and the first statement that gives the name."""

    key: str
    subject: str
    row: StatementRow


def follow_names(connection: Connection, namespace: str, schema: Schema, rules: Rules, now: int) -> None:
    """Merge entities that have the same stated name, and undo merges that no statement supports any more.

    Each merge is logged; an undone merge isn't repeated while its statement counts. If another entity already has the
    name, it keeps it, and merging the two is only proposed.
    """
    user_id = namespaces.owner(connection, namespace).user_id
    rows = statements.of_relation(connection, namespace, NAMED)
    made = standing(connection, namespace, "MERGE", undone=None)
    parents = entities.parents(connection, namespace)
    by_hand = {_key(one) for one in made if one.statement_seq is None and not one.record.undone}
    by_name = {_key(one) for one in made if one.statement_seq is not None} - by_hand
    fixed = {key: into for key, into in parents.items() if key not in by_name}
    names, rivals = stated_names(rows, schema, rules, fixed)
    counting = {row.seq for row in rows}
    latest = {(_key(one), one.record.object): one for one in made if one.statement_seq in counting}
    parted = {pair for pair, one in latest.items() if one.record.undone}
    wanted = {name.key: name.subject for name in names if name[:2] not in parted}
    gone: dict[str, str | None] = {key: None for key in by_name & set(parents) if wanted.get(key) != parents[key]}
    entities.set_canonical(connection, namespace, gone)
    come: dict[str, str | None] = {key: subject for key, subject in wanted.items() if parents.get(key) != subject}
    entities.set_canonical(connection, namespace, come)
    into = entities.canonical(connection, namespace)
    logged = {
        (one.record.subject, one.record.object) for one in standing(connection, namespace, "PROPOSE", undone=None)
    }
    new = [_logged(connection, namespace, name, into, "MERGE") for name in names if name[:2] not in latest]
    new += [_logged(connection, namespace, name, into, "PROPOSE") for name in rivals if name[:2] not in logged]
    decisions.insert(connection, namespace, user_id, new, now)


def stated_names(
    rows: Sequence[StatementRow], schema: Schema, rules: Rules, fixed: Mapping[str, str]
) -> tuple[list[Name], list[Name]]:
    """Return the names that statements give, and separately the names that were given to another entity first.

    Args:
        rows: all counting statements that give names, with their original subjects, in the order said.
        fixed: merges made for other reasons, by key.
    """
    names: list[Name] = []
    rivals: list[Name] = []
    for _ in range(len(rows) + 1):  # a name that makes two subjects one may change what they are called
        found, rivals = _taken(_held(rows, schema, rules, _links(names, fixed)), fixed)
        if found == names:
            break
        names = found
    return names, rivals


def _held(rows: Sequence[StatementRow], schema: Schema, rules: Rules, into: Mapping[str, str]) -> list[Name]:
    """Return current and past names, in the order they were first stated."""
    own = [replace(row, subject=_end(row.subject, into)) for row in rows]
    held: dict[int, Name] = {}
    for group in groups_of(own, schema, rules.correction_window, one_object=rules.one_object):
        for span in resolve(group.claims, rules).spans:
            key = group.object_key or span.value
            claims = span.claims
            said = [place for place, row in enumerate(rows) if row.seq in claims and object_of(row) == key]
            if said and span.confidence:
                held[said[0]] = Name(key, rows[said[0]].subject, rows[said[0]])
    return [held[place] for place in sorted(held)]


def _taken(held: Sequence[Name], fixed: Mapping[str, str]) -> tuple[list[Name], list[Name]]:
    names: dict[str, Name] = {}
    rivals: list[Name] = []
    into = dict(fixed)
    for name in held:
        if _end(name.key, into) == _end(name.subject, into):
            continue
        if name.key in into:
            rivals.append(name)
        else:
            names[name.key] = name
            into[name.key] = name.subject
    return list(names.values()), rivals


def _links(names: Iterable[Name], fixed: Mapping[str, str]) -> dict[str, str]:
    return {**{name.key: name.subject for name in names}, **fixed}


def _end(key: str, into: Mapping[str, str]) -> str:
    while key in into:
        key = into[key]
    return key


def _key(decision: DecisionRow) -> str:
    """Return the entity that was merged by a MERGE decision."""
    return str(decision.before[MERGED])


def _logged(connection: Connection, namespace: str, name: Name, into: Mapping[str, str], action: Action) -> NewDecision:
    key, subject, row = name
    group = Key(into.get(subject, subject), NAMED, row.topic)
    held = [fact for fact in facts.believed(connection, namespace, [group]) if row.seq in fact.statement_seqs]
    ids = tuple(dict.fromkeys(fact.id for fact in held))
    if action == "MERGE":
        return NewDecision(action, key, NAMED, "", subject, "the name was stated", row.seq, ids, merged(key, {}))
    return NewDecision(action, key, NAMED, "", subject, "the name was stated, but another has it too", row.seq, ids)
