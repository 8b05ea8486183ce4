"""What a message asserts, of all that the trained reader reads in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nscma_torch.records import Statement
from nscma_torch.relations import Schema
from nscma_torch.text.names import name_key

if TYPE_CHECKING:
    from nscma_torch.reading.fact_reader import ReadFact

SURE = 0.55  # least confidence of a statement by the reader
SURE_OPEN = 0.93  # of an open one
SURE_NEW = 0.84  # of one of a relation that the proposer was not trained on
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


def is_sure(read: ReadMessage, least: float) -> bool:
    """Whether the reader finds or rules out each statement that it considered, by this probability at least."""
    return all(max(one.confidence, 1 - one.confidence) >= least for one, _ in read.statements)


def _told(open_one: Statement, other: Statement, schema: Schema) -> bool:
    """Whether a statement of a relation has, as its object or what that replaces, words of an open one."""
    words = set(name_key(f"{open_one.topic} {open_one.object}").split())
    return not schema[other.relation].open and bool(words & set(name_key(f"{other.object} {other.replaces}").split()))
