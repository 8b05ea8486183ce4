"""Reads facts out of messages by the trained reader.

Of each message it is asked which relations it states at all (one row), what their objects are (a row for each relation
that is picked), and whom each object is said of, with the stance that the message takes (a row for each object).
Relations with a topic are asked for that as well. The turns before a message are read with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from nscma_torch.reading.fact_picker import FactPicker
from nscma_torch.reading.fact_questions import has_topic, object_question, subject_question, topic_question
from nscma_torch.reading.reader import Reader, ReadResult, ReadSpan
from nscma_torch.reading.reader_input import Passage
from nscma_torch.reading.reader_model import STANCES
from nscma_torch.relations import Relation, Schema

PICKED = 0.15  # least probability that a message states a relation for its objects to be asked
MOST_PICKED = 6  # relations of a message
INTERCEPT, WEIGHTS = -2.18, (0.61, 0.66, 0.12, 0.15, 0.18)  # of a pick, an object's evidence and share, a subject's two
EVIDENCE = 0.3  # least probability that a message tells an object of a relation for the subject to be asked
SHARE = 0.05  # least share of an object's span among all spans


@dataclass(frozen=True, slots=True)
class ReadFact:
    """A fact as the reader found it, in the words of its message or of the turns before.

    `topic` is "" for a relation without one. `told` is the probability that the message states the fact in some stance,
    `stances` that of each of `STANCES`.
    """

    relation: str
    subject: ReadSpan
    object: ReadSpan
    told: float
    stances: tuple[float, ...]
    topic: str = ""
    features: tuple[float, ...] = ()

    @property
    def confidence(self) -> float:
        """The probability that the message says so: logistic in what the questions gave, fitted on development."""
        x = sum(weight * _logit(p) for weight, p in zip(WEIGHTS, self.features, strict=True))
        return 1 / (1 + math.exp(-(INTERCEPT + x)))

    @property
    def stance(self) -> str:
        """The likeliest stance."""
        return STANCES[max(range(len(STANCES)), key=self.stances.__getitem__)]


class MessageFacts(NamedTuple):
    """What a message states, and the probability that it states anything of each relation that the picker knows."""

    facts: tuple[ReadFact, ...]
    picks: Mapping[str, float]


class _Candidate(NamedTuple):
    """An object that message number `message` may state of a relation."""

    message: int
    relation: Relation
    span: ReadSpan
    features: tuple[float, ...]


class FactReader:
    """Reads the facts of a schema, of which each relation needs a template and a meaning.

    A relation that the picker was not trained on is asked of every message.
    """

    def __init__(self, picker: FactPicker, reader: Reader, schema: Schema) -> None:
        self._picker = picker
        self._reader = reader
        self._schema = schema

    def read(self, messages: Sequence[Sequence[Passage]]) -> list[MessageFacts]:
        """What the last passage of each list states; those before it are what it is understood by."""
        names = self._picker.relations
        shares: list[list[float]] = self._picker.picks(messages).tolist()
        facts = self._facts(messages, [picked(own, names, self._schema) for own in shares])
        return [
            MessageFacts(tuple(own), dict(zip(names, p, strict=True))) for own, p in zip(facts, shares, strict=True)
        ]

    def _facts(
        self, messages: Sequence[Sequence[Passage]], picks: Sequence[Sequence[tuple[Relation, float]]]
    ) -> list[list[ReadFact]]:
        asked = [(number, *pick) for number, own in enumerate(picks) for pick in own]
        objects = self._reader.read(
            [object_question(relation) for _, relation, _ in asked], [messages[number] for number, _, _ in asked]
        )
        candidates = [
            _Candidate(number, relation, span, (share, result.evidence[-1], span.share))
            for (number, relation, share), result in zip(asked, objects, strict=True)
            if result.evidence[-1] >= EVIDENCE
            for span in _objects(result, len(messages[number]) - 1)
        ]
        subjects = self._reader.read(
            [subject_question(one.relation, one.span.text) for one in candidates],
            [messages[one.message] for one in candidates],
        )
        found: list[list[ReadFact]] = [[] for _ in messages]
        for one, result in zip(candidates, subjects, strict=True):
            if result.spans:
                told = result.evidence[-1]
                fact = ReadFact(
                    one.relation.name,
                    result.spans[0],
                    one.span,
                    told,
                    result.stances,
                    features=(*one.features, told, result.spans[0].share),
                )
                found[one.message].append(fact)
        return self._with_topics(messages, found)

    def _with_topics(
        self, messages: Sequence[Sequence[Passage]], found: Sequence[Sequence[ReadFact]]
    ) -> list[list[ReadFact]]:
        """The facts with their topics; what has none although its relation needs one is left out."""
        asked = [
            (number, fact) for number, own in enumerate(found) for fact in own if has_topic(self._schema[fact.relation])
        ]
        results = self._reader.read(
            [topic_question(self._schema[fact.relation], fact.subject.text, fact.object.text) for _, fact in asked],
            [messages[number] for number, _ in asked],
        )
        topics = {
            id(fact): result.spans[0].text for (_, fact), result in zip(asked, results, strict=True) if result.spans
        }
        return [
            [
                replace(fact, topic=topics.get(id(fact), ""))
                for fact in own
                if not has_topic(self._schema[fact.relation]) or id(fact) in topics
            ]
            for own in found
        ]


def picked(shares: Sequence[float], names: Sequence[str], schema: Schema) -> list[tuple[Relation, float]]:
    """The relations that a message is asked about, with the shares of a picker for these names; likeliest first."""
    likely = [(schema[name], p) for name, p in zip(names, shares, strict=True) if name in schema and p >= PICKED]
    new = [(relation, PICKED) for name, relation in schema.relations.items() if name not in names]
    return [*sorted(likely, key=lambda pick: -pick[1])[:MOST_PICKED], *new]


def _logit(p: float) -> float:
    p = min(max(p, 1e-4), 1 - 1e-4)
    return math.log(p / (1 - p))


def _objects(result: ReadResult, message: int) -> list[ReadSpan]:
    """The spans that may each be an object: words of the message itself, not of a turn before it."""
    return [span for span in result.spans if span.of_text and span.passage == message and span.share >= SHARE]
