"""Facts as callers request them: a selection, a relation's timeline, unresolved contradictions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from sqlalchemy import Connection

from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Fact, FactStatus, Scope
from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.store import facts
from nscma_torch.text.names import name_key
from nscma_torch.text.spelling_variants import american
from nscma_torch.text.surrogates import refuse_surrogates

BELIEVED: tuple[FactStatus, ...] = ("active", "disputed")
EVERY: tuple[FactStatus, ...] = (*BELIEVED, "archived")


def selected(
    connection: Connection,
    scope: Scope,
    schema: Schema,
    *,
    subject: str | None = None,
    relation: str | None = None,
    topic: str | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    statuses: Sequence[FactStatus] = BELIEVED,
    ids: Collection[str] | None = None,
) -> list[Fact]:
    """Return facts ordered by subject, relation and start time; the arguments are as in `Memory.facts`.

    Raises `InvalidInputError` for an empty subject or a relation that is not in the schema.
    """
    refuse_surrogates((subject, topic), "a subject or topic")
    if relation is not None and relation not in schema:
        known = ", ".join(schema.relations)
        raise InvalidInputError(f"unknown relation {relation!r}; the relation file has {known}")
    if subject is not None and not (isinstance(subject, str) and name_key(subject)):
        raise InvalidInputError(f"subject must be a name, got {subject!r}; omit it for facts about everything")
    found = facts.select_facts(
        connection,
        scope,
        subjects=None if subject is None else [name_key(subject)],
        relations=None if relation is None else [relation],
        as_of=None if as_of is None else to_micros(as_of),
        known_at=None if known_at is None else to_micros(known_at),
        statuses=statuses,
        ids=ids,
    )
    return [fact for fact in found if topic is None or american(fact.topic) == american(topic)]


def holding(found: Iterable[Fact], at: datetime) -> list[Fact]:
    """Return the facts that hold in the world at a time."""
    return [
        fact
        for fact in found
        if (fact.valid_from is None or fact.valid_from <= at) and (fact.valid_to is None or at < fact.valid_to)
    ]


def timeline(
    connection: Connection, scope: Scope, schema: Schema, subject: str, relation: str, topic: str | None
) -> list[Fact]:
    """Return all facts with a subject and relation, including past ones, oldest first. Raises like `selected`."""
    found = selected(connection, scope, schema, subject=subject, relation=relation, topic=topic, statuses=EVERY)
    return sorted(
        found, key=lambda fact: (fact.valid_from is not None, fact.valid_from or fact.recorded_at, fact.sequence)
    )


def contradictions(connection: Connection, scope: Scope, schema: Schema) -> list[tuple[Fact, ...]]:
    """Return the unresolved contradictions, each as a tuple of the conflicting facts."""
    sides: dict[tuple[object, ...], list[Fact]] = {}
    for fact in selected(connection, scope, schema, statuses=("disputed",)):
        relation = schema[fact.relation]
        of_object = name_key(fact.object) if relation.cardinality == "many" else ""
        either = min(relation.name, relation.opposite or relation.name)
        sides.setdefault((fact.scope, fact.subject, either, fact.topic, of_object), []).append(fact)
    return [tuple(own) for own in sides.values()]
