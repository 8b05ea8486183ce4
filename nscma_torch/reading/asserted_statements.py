"""Select the statements that a message asserts from everything the trained reader finds in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nscma_torch.core.records import Statement
from nscma_torch.reading.relations import Schema, family
from nscma_torch.text.names import name_key

if TYPE_CHECKING:
    from nscma_torch.reading.fact_reader import ReadFact

SURE = 0.62  # least confidence of a statement by the reader
SURE_OPEN = 0.93  # of an open one
SURE_NEW = 0.84  # of one of a relation that the proposer was not trained on
OUTDATED = 0.3  # probability that a value is over from which another value beside it replaces it
ASSERTED = ("holds", "ended", "denied")


class ReadMessage(NamedTuple):
    """Output of the reader for one message.

    `statements` contains statements in any stance, each with the fact it was built from. `picks` maps each relation
    that the proposer was trained on to the probability that the message states a fact in it.
    """

    statements: list[tuple[Statement, ReadFact]]
    picks: dict[str, float]


def asserted(read: ReadMessage, schema: Schema) -> list[Statement]:
    """Return the statements that a message asserts as true, ended or false. A one-valued relation gets one value, or
    one value per sentence if it expresses a location.

    If a message gives an ended value and a new one, the new statement replaces the ended value. If it gives two current
    values, the one more likely to have ended is replaced. An open statement is dropped if a statement in a known
    relation already covers its object.
    """
    kept: list[Statement] = []
    for one, fact in sorted(read.statements, key=lambda pair: (schema[pair[0].relation].open, -pair[0].confidence)):
        in_its_words = schema[one.relation].open
        least = SURE_OPEN if in_its_words else SURE if one.relation in read.picks else SURE_NEW
        if one.confidence < least or fact.stance not in ASSERTED:
            continue
        beside = [other for other in kept if _beside(one, other, schema)]
        if in_its_words and any(_told(one, other, schema) for other in kept):
            continue
        same = [other for other in beside if name_key(other.object) == name_key(one.object)]
        if any(other.relation != one.relation or _says(one, other) for other in same):
            continue  # an object tells one relation, the likeliest
        kept.append(one)
    over = {id(one) for one, fact in read.statements if one.negated or fact.over >= OUTDATED}
    chosen = set(map(id, kept))
    found = []
    for one in (one for one, _ in read.statements if id(one) in chosen):
        if schema[one.relation].cardinality == "one":
            values = [other for other in kept if _beside(one, other, schema) and _of_one(one, other)]
            holding = [other for other in values if not other.negated]
            new = next((other for other in holding if id(other) not in over), next(iter(holding), None))
            if new is not None and one is not new:
                continue
            old = next((o.object for o in values if id(o) in over and name_key(o.object) != name_key(one.object)), "")
            one = replace(one, replaces=old if new is not None else "")
        found.append(one)
    return said_anew(sorted(found, key=lambda one: one.start), schema)


def said_anew(statements: Iterable[Statement], schema: Schema) -> list[Statement]:
    """Return a message's statements in order, dropping repetitions unless a contradicting statement lies in between."""
    last: dict[tuple[str, tuple[str, ...], str, str], tuple[str, str, bool, bool]] = {}
    fresh = []
    for one in statements:
        value = name_key(one.object)
        among = "" if schema[one.relation].cardinality == "one" else value
        group = (name_key(one.subject), family(one.relation, schema), one.topic, among)
        said = (one.relation, value, one.negated, one.past)
        if one.replaces or one.valid_from or one.valid_to or last.get(group) != said:
            last[group] = said
            fresh.append(one)
    return fresh


def told_in_turn(read: Sequence[tuple[Statement, ReadFact]], schema: Schema) -> bool:
    """Return True if different sentences give the same thing several successive places or holders."""
    firm = [
        one
        for one, fact in read
        if one.relation in schema.locating and one.confidence >= SURE and fact.stance in ASSERTED
    ]
    return any(a.start != b.start and _of_one(a, b) for i, a in enumerate(firm) for b in firm[:i])


def _beside(one: Statement, other: Statement, schema: Schema) -> bool:
    """Return True if one statement could replace the other.

    Locations in different sentences can't replace each other, as they form a sequence.
    """
    in_turn = one.relation in schema.locating and other.relation in schema.locating
    return one.start == other.start or not in_turn


def _says(one: Statement, other: Statement) -> bool:
    """Return True if two statements about the same object agree, or come from the same sentence."""
    return _of_one(one, other) and (one.start == other.start or one.negated == other.negated)


def _of_one(one: Statement, other: Statement) -> bool:
    """Return True if two statements have the same subject, relation and topic."""
    return (one.relation, one.topic, name_key(one.subject)) == (other.relation, other.topic, name_key(other.subject))


def is_sure(read: ReadMessage, least: float) -> bool:
    """Return True if the reader accepts or rejects each considered statement with a probability of at least `least`."""
    return all(max(one.confidence, 1 - one.confidence) >= least for one, _ in read.statements)


def _told(open_one: Statement, other: Statement, schema: Schema) -> bool:
    """Return True if `other` is in a known relation, and its object or replaced value shares a word with `open_one`."""
    words = set(name_key(f"{open_one.topic} {open_one.object}").split())
    return not schema[other.relation].open and bool(words & set(name_key(f"{other.object} {other.replaces}").split()))
