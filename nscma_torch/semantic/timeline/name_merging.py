"""Entity merges: stated names merge entities, while similar names only lead to a proposal. Each is logged and can be
undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from sqlalchemy import Connection

from nscma_torch.core.records import Action, Fact
from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.store import decisions, entities, facts, namespaces
from nscma_torch.semantic.store.decisions import DecisionRow, NewDecision
from nscma_torch.semantic.timeline.grouping import NAMED
from nscma_torch.text.names import name_key

MERGED = "merged"  # key of a decision's `before`: the entity that was merged into another
_WAS = "was"  # beside it: the entity that it stood for before, or None
_LONG = 8  # characters of a name from which on one wrong letter seldom makes another name
_KINDS = frozenset({"person", "place", "group"})


class Alike(NamedTuple):
    """The keys of two entities that may be the same, and the reason."""

    key: str
    into: str
    reason: str


def merged(key: str, before: Mapping[str, str]) -> dict[str, Any]:
    """Return the `before` for a MERGE decision, used to undo it; the argument `before` maps keys to the entities they
    stood for.
    """
    return {MERGED: key, _WAS: before.get(key)}


def unmerge(connection: Connection, decision: DecisionRow) -> None:
    """Undo a merge, and mark the groups of both entities."""
    entities.set_canonical(connection, decision.namespace, {decision.before[MERGED]: decision.before[_WAS]})


def propose(connection: Connection, namespace: str, schema: Schema, now: int) -> list[Alike]:
    """Log and return a merge proposal for each pair of entities with similar names that was not proposed before."""
    scope = namespaces.owner(connection, namespace)
    known = {
        (decision.record.subject, decision.record.object)
        for decision in standing(connection, namespace, "PROPOSE", undone=None)
    }
    believed = [
        fact
        for fact in facts.select_facts(connection, scope, statuses=("active", "archived", "disputed"))
        if namespaces.namespace_id(fact.scope.user_id, fact.scope.agent_id) == namespace
    ]
    found = [one for one in alike(believed, schema) if (one.key, one.into) not in known]
    made = [NewDecision("PROPOSE", one.key, "", "", one.into, one.reason, None) for one in found]
    decisions.insert(connection, namespace, scope.user_id, made, now)
    return found


def alike(believed: Collection[Fact], schema: Schema) -> list[Alike]:
    """Return pairs of similar names of the same kind: one contains the other, or they differ in one letter."""
    of_kind: dict[str, set[str]] = defaultdict(set)
    written: dict[str, str] = {}
    for fact in believed:
        if fact.relation not in schema or fact.relation == NAMED:
            continue
        relation = schema[fact.relation]
        for name, kind in ((fact.subject, relation.subject), (fact.object, relation.object)):
            if schema.kinds[kind].like in _KINDS and name[:1].isupper():
                of_kind[schema.kinds[kind].like].add(name_key(name))
                written[name_key(name)] = name
    pairs = {pair for keys in of_kind.values() for pair in (*_containing(keys), *_misspelt(keys))}
    return sorted(Alike(key, into, _reason(written[key], written[into])) for key, into in pairs)


def _containing(keys: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield (shorter, longer) if a one-word name is the first or last word of a longer one."""
    for key in sorted(keys):
        words = key.split()
        if len(words) > 1:
            yield from ((word, key) for word in dict.fromkeys((words[0], words[-1])) if word in keys)


def _misspelt(keys: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of long names, in order, that differ by one letter added, dropped or changed."""
    nearby: dict[str, list[str]] = defaultdict(list)
    for key in sorted(keys):
        if len(key) >= _LONG:
            half = len(key) // 2
            for part in {key[:half], key[: half - 1], key[half:], key[half + 1 :]}:
                nearby[part].append(key)
    for near in nearby.values():
        for one, other in combinations(near, 2):
            if not any(c.isdigit() for c in one + other) and _one_edit(one, other):
                yield one, other


def _one_edit(one: str, other: str) -> bool:
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    shorter, longer = sorted((one[start:], other[start:]), key=len)
    return longer[1:] == (shorter[1:] if len(shorter) == len(longer) else shorter)


def _reason(one: str, other: str) -> str:
    contained = len(one.split()) < len(other.split())
    return f"{one!r} is part of the name {other!r}" if contained else f"{one!r} and {other!r} differ in one letter"


def standing(
    connection: Connection, namespace: str, action: Action, *, undone: bool | None = False
) -> list[DecisionRow]:
    """Return a namespace's decisions with this action, oldest first; `undone` selects undone ones or, if None, all."""
    scope = namespaces.owner(connection, namespace)
    records = decisions.select_decisions(connection, scope, actions=[action], undone=undone)
    rows = (decisions.find(connection, scope.user_id, record.id) for record in records)
    return [row for row in rows if row is not None and row.namespace == namespace][::-1]
