"""Puts together what forms read and what the trained reader reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nscma_torch.records import Statement
from nscma_torch.relations import Schema, family
from nscma_torch.text.names import name_key

if TYPE_CHECKING:
    from nscma_torch.reading.fact_reader import ReadFact

SURE = 0.55  # least confidence of a statement by the reader
SURE_OPEN = 0.93  # of an open one
SURE_NEW = 0.84  # of one of a relation that the proposer was not trained on
VETO = 0.7  # probability that a message states something without asserting it, from which forms are overruled
OVERRULES = 0.75  # confidence of a statement by the reader from which a form that tells its object otherwise is wrong
POSSIBLE = 0.003  # probability that a message states a relation at all, below which no form is believed
ASSERTED = ("holds", "ended", "denied")


class ReadMessage(NamedTuple):
    """What the reader makes of a message.

    `statements` are in any stance, each with the fact that it was made of; `picks` has the probability that the message
    states anything of each relation that the proposer was trained on.
    """

    statements: list[tuple[Statement, ReadFact]]
    picks: dict[str, float]


def asserted(read: ReadMessage, schema: Schema) -> list[Statement]:
    """What a message says to hold, to have ended, or not to be so; of one-valued relations one value each.

    What ended where the same message gives a new value is what that replaces. An open statement is left out where one
    of a relation tells its object.
    """
    kept: dict[tuple[str, str, str, str], Statement] = {}
    for one, fact in sorted(read.statements, key=lambda pair: (schema[pair[0].relation].open, -pair[0].confidence)):
        in_its_words = schema[one.relation].open
        least = SURE_OPEN if in_its_words else SURE if one.relation in read.picks else SURE_NEW
        if one.confidence < least or fact.stance not in ASSERTED:
            continue
        if in_its_words and any(_told(one, other, schema) for other in kept.values()):
            continue
        value = name_key(one.object)
        if all(
            key[1] == one.relation or key[3] != value for key in kept
        ):  # an object tells one relation, the likeliest
            kept.setdefault((name_key(one.subject), one.relation, one.topic, name_key(one.object)), one)
    found: list[Statement] = []
    for key, one in kept.items():
        if schema[one.relation].cardinality == "one":
            same = [other for k, other in kept.items() if k[:3] == key[:3]]
            new = next((other for other in same if not other.negated), None)
            if new is not None and one is not new:
                continue
            old = next((other.object for other in same if other.negated), "")
            one = replace(one, replaces=old if new is not None else "")
        found.append(one)
    return sorted(found, key=lambda one: one.start)


def both(by_forms: Sequence[Statement], read: ReadMessage, schema: Schema) -> tuple[Statement, ...]:
    """What the reader is sure of, and what forms read that it does not find impossible, unasserted or otherwise."""
    unreal = [
        one for one, fact in read.statements if fact.stance not in ASSERTED and max(fact.stances) * fact.told >= VETO
    ]
    sure = asserted(read, schema)
    possible = [one for one in by_forms if read.picks.get(one.relation, 1.0) >= POSSIBLE]
    kept = [
        one
        for one in possible
        if not any(_alike(one, other, schema) for other in unreal)
        and not any(_otherwise(one, other, schema) for other in sure)
    ]
    fresh = [one for one in sure if not any(_known(one, other, schema) for other in kept)]
    return tuple(sorted([*kept, *fresh], key=lambda one: one.start))


def is_sure(read: ReadMessage, least: float) -> bool:
    """Whether the reader finds or rules out each statement that it considered, by this probability at least."""
    return all(max(one.confidence, 1 - one.confidence) >= least for one, _ in read.statements)


def _told(open_one: Statement, other: Statement, schema: Schema) -> bool:
    """Whether a statement of a relation has, as its object or what that replaces, words of an open one."""
    words = set(name_key(f"{open_one.topic} {open_one.object}").split())
    return not schema[other.relation].open and bool(words & set(name_key(f"{other.object} {other.replaces}").split()))


def _alike(one: Statement, other: Statement, schema: Schema) -> bool:
    """Whether two statements are of one relation, or of opposite ones, and name the same object."""
    a, b = (set(name_key(each.object).split()) for each in (one, other))
    return other.relation in family(one.relation, schema) and (a <= b or b <= a)


def _otherwise(one: Statement, other: Statement, schema: Schema) -> bool:
    """Whether a firm statement of a relation tells the object of one of another subject or in another relation."""
    if schema[other.relation].open or other.confidence < OVERRULES or name_key(one.object) != name_key(other.object):
        return False
    return (one.relation, name_key(one.subject)) != (other.relation, name_key(other.subject))


def _known(one: Statement, other: Statement, schema: Schema) -> bool:
    """Whether a statement of the forms already tells what another does, or another value of the same."""
    same = (one.relation, one.topic, name_key(one.subject)) == (other.relation, other.topic, name_key(other.subject))
    told = name_key(one.object) == name_key(other.object)  # an object tells one relation
    if schema[one.relation].open and _told(one, other, schema):
        return True
    return told or _alike(one, other, schema) or (same and schema[one.relation].cardinality == "one")
