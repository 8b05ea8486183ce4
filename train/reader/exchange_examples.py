"""Examples of the labelled exchanges: what stands in a relation, of whom an object is said and in which stance, or that
nothing of the kind is said.

All facts of a message are labelled, so that any other relation, and any other pair of relation and object, is a
negative. The pairs that a proposer finds likely are what the reader will be asked; for objects it is asked in relations
that are new to the proposer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nscma_torch.reading.fact_proposer import FactProposer, Proposal
from nscma_torch.reading.fact_questions import (
    object_question,
    open_object_question,
    open_subject_question,
    subject_question,
)
from nscma_torch.reading.fact_reader import likely
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import KINDS, STANCES
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.turns_before import TURNS_BEFORE
from train.reader.dialogue_examples import spans_of
from train.reader.examples import Example, Labelled, Span, plain
from train.reader.exchange_text import Exchange, LabelledFact

NEGATIVES = 3  # of a message, of what a proposer finds likely
OTHER_RELATIONS = 1  # that a message does not state, of which objects are asked
BEFORE = (0, 1, 2, 2)  # turns before a message of which one number is drawn
NAMELESS = 0.3  # share of the exchanges whose first speaker has no name, as users of an assistant often have none


def exchange_examples(
    exchange: Exchange, schema: Schema, rng: random.Random, proposed: Sequence[Sequence[Proposal]]
) -> Iterator[Example]:
    """All examples of an exchange; `proposed` has what a proposer finds likely in each of its messages."""
    if rng.random() < NAMELESS:
        exchange = nameless(exchange)
    for number, proposals in enumerate(proposed, start=1):
        facts = [fact for fact in exchange.facts if fact.number == number]
        read = read_turns(exchange, number, rng.choice(BEFORE))
        for asked, values in _values(facts, schema).items():
            yield _objects(read, exchange.id, asked, values)
        for fact in facts:
            yield _stated(read, exchange.id, fact, schema)
        free = [r for r in schema.relations.values() if not r.open and all(fact.relation != r.name for fact in facts)]
        for relation in rng.sample(free, OTHER_RELATIONS):
            yield _unstated(read, exchange.id, object_question(relation))
        false = [one for one in proposals if not schema[one.relation].open and not _told(one, facts)]
        for one in rng.sample(false, min(len(false), NEGATIVES)):
            yield _unstated(read, exchange.id, subject_question(schema[one.relation], one.object.text))


def proposals_of(exchanges: Sequence[Exchange], proposer: FactProposer) -> list[list[list[Proposal]]]:
    """What a proposer finds likely in each message of each exchange."""
    return [
        [
            likely(proposer.propose([[one.passage for one in read_turns(exchange, number)]])[0].facts)
            for number in range(1, len(exchange.messages) + 1)
        ]
        for exchange in exchanges
    ]


def _told(proposal: Proposal, facts: Sequence[LabelledFact]) -> bool:
    """Whether a label has the relation and words of the object."""
    own = set(plain(proposal.object.text).split())
    return any(fact.relation == proposal.relation and own & set(plain(fact.object).split()) for fact in facts)


def nameless(exchange: Exchange) -> Exchange:
    """The exchange with its first speaker known as the user."""
    name = exchange.messages[0].speaker

    def renamed(words: str) -> str:
        return re.sub(rf"^{re.escape(name)}(?='s |$)", "user", words, flags=re.IGNORECASE)

    messages = [replace(m, speaker="user") if m.speaker == name else m for m in exchange.messages]
    facts = [replace(f, subject=renamed(f.subject), object=renamed(f.object)) for f in exchange.facts]
    return Exchange(exchange.id, messages, facts)


def _values(facts: Sequence[LabelledFact], schema: Schema) -> dict[str, list[str]]:
    """The objects of a message by the question for them."""
    found: dict[str, list[str]] = {}
    for fact in facts:
        asked = open_object_question(fact.relation) if fact.open else object_question(schema[fact.relation])
        found.setdefault(asked, []).append(fact.object)
    return found


def _objects(read: Sequence[Labelled], source: str, asked: str, values: Sequence[str]) -> Example:
    """A question for values of a message, or, where it only refers to them, of the nearest turn that has them."""
    passages = [labelled.passage for labelled in read]
    found: dict[int, list[Span]] = {}
    for value in dict.fromkeys(values):
        for place in range(len(passages) - 1, -1, -1):
            if spans := spans_of(passages[place], value):
                found.setdefault(place, []).extend(spans)
                break
    last = len(passages) - 1
    told = [
        Labelled(passage, tuple(dict.fromkeys(found.get(i, ()))), True if i == last or i in found else None)
        for i, passage in enumerate(passages)
    ]
    kind = "list" if len(set(values)) > 1 else "span"
    return Example(source, "read", asked, tuple(told), kind=KINDS.index(kind))


def _stated(read: Sequence[Labelled], source: str, fact: LabelledFact, schema: Schema) -> Example:
    if fact.open:
        asked = open_subject_question(fact.relation, fact.object)
    else:
        asked = subject_question(schema[fact.relation], fact.object)
    *before, own = read
    named = first_named([own.passage, *(one.passage for one in reversed(before))], subject_wordings(fact.subject))
    told = [Labelled(one.passage, named.get(id(one.passage), ()), None) for one in before]
    told.append(Labelled(own.passage, named.get(id(own.passage), ()), True))
    return Example(source, "read", asked, tuple(told), kind=KINDS.index("span"), label=STANCES.index(fact.stance))


def _unstated(read: Sequence[Labelled], source: str, asked: str) -> Example:
    """A question that a message does not answer; what the turns before it state is not asked here."""
    *before, own = read
    return Example(source, "read", asked, (*before, Labelled(own.passage)))


def subject_wordings(subject: str) -> list[str]:
    """How a subject may be worded: "Maya's sister" as "my sister" where Maya speaks."""
    _, owned, role = subject.rpartition("'s ")
    if not owned:
        return [subject, subject.removeprefix("the ")]
    return [subject, *(f"{owner} {role}" for owner in ("my", "our", "your", "his", "her", "their", "the")), role]


def first_named(passages: Sequence[InputPassage], wordings: Sequence[str]) -> dict[int, tuple[Span, ...]]:
    """The spans of the first wording that a passage has: of the speaker's own name its label, else the nearest text."""
    for wording in wordings:
        for passage in passages:
            if passage.speaker.lower() == wording.lower():
                return {id(passage): (Span(0, len(passage.speaker), of_text=False),)}
        for passage in passages:
            if found := [span for span in spans_of(passage, wording) if span.of_text]:
                return {id(passage): tuple(found)}
    return {}


def read_turns(exchange: Exchange, number: int, turns: int = TURNS_BEFORE) -> tuple[Labelled, ...]:
    """A message with the turns before it, of which nothing is said here."""
    first = max(1, number - turns)
    return tuple(
        Labelled(InputPassage(m.text, m.speaker, m.said_at, context=n < number), holds=None)
        for n, m in enumerate(exchange.messages[first - 1 : number], start=first)
    )
