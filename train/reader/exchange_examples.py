"""Examples of the labelled exchanges: the objects of the relations that a message states, and the subject of each.

All facts of a message are labelled, so that any other relation, and any other pair of relation and object, is a
negative. Most of those drawn are near: relations whose objects have the same shape, of what the message does hold.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from nscma_torch.reading.fact_picker import FactPicker
from nscma_torch.reading.fact_questions import (
    object_question,
    open_object_question,
    open_subject_question,
    subject_question,
    topic_question,
)
from nscma_torch.reading.fact_reader import picked
from nscma_torch.reading.reader_input import TURNS_BEFORE, Passage
from nscma_torch.reading.reader_model import KINDS, STANCES
from nscma_torch.relations import Schema
from train.reader.dialogue_examples import spans_of
from train.reader.examples import Example, Labelled, Span
from train.reader.exchange_text import Exchange, LabelledFact

OTHER_RELATIONS = 2  # asked of each message with facts that does not state them, and one of others
BEFORE = (0, 1, 2, 2)  # turns before a message of which one number is drawn
OTHER_PAIRS = 1  # of a relation and words of the message
NAMELESS = 0.3  # share of the exchanges whose first speaker has no name, as users of an assistant often have none
_CANDIDATE = re.compile(r"[A-Z][\w-]+(?:\s[A-Z][\w-]+)?|\d[\d.,:]*|\b\w{5,}\b")


def exchange_examples(
    exchange: Exchange, schema: Schema, rng: random.Random, likely: Mapping[int, Sequence[str]] | None = None
) -> Iterator[Example]:
    """All examples of an exchange; `likely` has the relations that a picker would have asked of each message."""
    if rng.random() < NAMELESS:
        exchange = _nameless(exchange)
    for number in range(1, len(exchange.messages) + 1):
        facts = [fact for fact in exchange.facts if fact.number == number]
        known = [fact for fact in facts if not fact.open]
        relations = tuple(dict.fromkeys(fact.relation for fact in known))
        read = read_turns(exchange, number, rng.choice(BEFORE))
        for name in relations:
            values = [fact.object for fact in known if fact.relation == name]
            yield _objects(read, exchange.id, object_question(schema[name]), values)
        for fact in facts:
            yield from _one_fact(read, exchange.id, fact, schema)
        for name in _others(relations, schema, rng, None if likely is None else likely[number]):
            yield _unstated(read, exchange.id, object_question(schema[name]))
        for name, value in _other_pairs(exchange, number, known, schema, rng):
            yield _unstated(read, exchange.id, subject_question(schema[name], value))


def likely_relations(exchanges: Sequence[Exchange], picker: FactPicker, schema: Schema) -> list[dict[int, list[str]]]:
    """What a picker would have the reader asked about each message of each exchange, by the message's number."""
    places = [(i, n) for i, exchange in enumerate(exchanges) for n in range(1, len(exchange.messages) + 1)]
    shares = picker.picks([[one.passage for one in read_turns(exchanges[i], n)] for i, n in places])
    found: list[dict[int, list[str]]] = [{} for _ in exchanges]
    for (i, number), own in zip(places, shares.tolist(), strict=True):
        found[i][number] = [relation.name for relation, _ in picked(own, picker.relations, schema)]
    return found


def _nameless(exchange: Exchange) -> Exchange:
    """The exchange with its first speaker known as the user."""
    name = exchange.messages[0].speaker

    def renamed(words: str) -> str:
        return re.sub(rf"^{re.escape(name)}(?='s |$)", "user", words, flags=re.IGNORECASE)

    messages = [replace(m, speaker="user") if m.speaker == name else m for m in exchange.messages]
    facts = [replace(f, subject=renamed(f.subject), object=renamed(f.object)) for f in exchange.facts]
    return Exchange(exchange.id, messages, facts)


def _one_fact(read: Sequence[Labelled], source: str, fact: LabelledFact, schema: Schema) -> Iterator[Example]:
    if fact.open:
        yield _objects(read, source, open_object_question(fact.relation), [fact.object])
        asked = open_subject_question(fact.relation, fact.object)
    else:
        asked = subject_question(schema[fact.relation], fact.object)
    stance = STANCES.index(fact.stance)
    *before, own = read
    named = _first_named([own.passage, *(one.passage for one in reversed(before))], subject_wordings(fact.subject))
    told = [Labelled(one.passage, named.get(id(one.passage), ()), None) for one in before]
    told.append(Labelled(own.passage, named.get(id(own.passage), ()), True))
    yield Example(source, "read", asked, tuple(told), kind=KINDS.index("span"), label=stance)
    if fact.topic and spans_of(own.passage, fact.topic):
        asked = topic_question(schema[fact.relation], fact.subject, fact.object)
        yield _objects(read, source, asked, [fact.topic])


def subject_wordings(subject: str) -> list[str]:
    """How a subject may be worded: "Maya's sister" as "my sister" where Maya speaks."""
    _, owned, role = subject.rpartition("'s ")
    if not owned:
        return [subject, subject.removeprefix("the ")]
    return [subject, *(f"{owner} {role}" for owner in ("my", "our", "your", "his", "her", "their", "the")), role]


def _first_named(passages: Sequence[Passage], wordings: Sequence[str]) -> dict[int, tuple[Span, ...]]:
    """The spans of the first wording that a passage has: of the speaker's own name its label, else the nearest text."""
    for wording in wordings:
        for passage in passages:
            if passage.speaker.lower() == wording.lower():
                return {id(passage): (Span(0, len(passage.speaker), of_text=False),)}
        for passage in passages:
            if found := [span for span in spans_of(passage, wording) if span.of_text]:
                return {id(passage): tuple(found)}
    return {}


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


def _unstated(read: Sequence[Labelled], source: str, asked: str) -> Example:
    """A question that a message does not answer; what the turns before it state is not asked here."""
    *before, own = read
    return Example(source, "read", asked, (*before, Labelled(own.passage)))


def _others(relations: Sequence[str], schema: Schema, rng: random.Random, likely: Sequence[str] | None) -> list[str]:
    """Relations that a message does not state: most of them likely ones, or near one that it does state."""
    free = [name for name in schema.relations if name not in relations]
    if likely is not None:
        asked = [name for name in likely if name in free]
        return rng.sample(asked, min(len(asked), OTHER_RELATIONS)) or [rng.choice(free)]
    shapes = {_shape(schema, name) for name in relations}
    near = [name for name in free if _shape(schema, name) in shapes]
    chosen = rng.sample(near, min(len(near), OTHER_RELATIONS - 1))
    return [*chosen, rng.choice([name for name in free if name not in chosen])]


def _other_pairs(
    exchange: Exchange, number: int, facts: Sequence[LabelledFact], schema: Schema, rng: random.Random
) -> list[tuple[str, str]]:
    """Relations with objects that a message names and of which it does not state them."""
    stated = {(fact.relation, fact.object.lower()) for fact in facts}
    found = []
    for fact in facts:
        near = [name for name in schema.relations if _shape(schema, name) == _shape(schema, fact.relation)]
        found.append((rng.choice(near), fact.object))
    words = [match[0] for match in _CANDIDATE.finditer(exchange.messages[number - 1].text)]
    for _ in range(OTHER_PAIRS if words else 0):
        own = rng.choice([fact.relation for fact in facts]) if facts and rng.random() < 0.6 else None
        found.append((own or rng.choice(list(schema.relations)), rng.choice(words)))
    objects = [fact.object.lower() for fact in facts]
    fresh = [
        (name, value)
        for name, value in dict.fromkeys(found)
        if (name, value.lower()) not in stated
        and not any(value.lower() in own or own in value.lower() for own in objects if (name, own) in stated)
    ]
    return rng.sample(fresh, min(len(fresh), OTHER_PAIRS))


def _shape(schema: Schema, name: str) -> str:
    return schema.kinds[schema[name].object].like


def read_turns(exchange: Exchange, number: int, turns: int = TURNS_BEFORE) -> tuple[Labelled, ...]:
    """A message with the turns before it, of which nothing is said here."""
    first = max(1, number - turns)
    return tuple(
        Labelled(Passage(m.text, m.speaker, m.said_at, context=n < number), holds=None)
        for n, m in enumerate(exchange.messages[first - 1 : number], start=first)
    )
