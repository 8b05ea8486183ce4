"""Read facts from messages: a proposer finds possible statements, and the trained reader judges each.

For each proposed object, the reader is asked for the subject ("who lives in Lyon?"), in one batch per message, and also
returns the message's stance. A message is read together with the turns before it. For relations that the proposer
wasn't trained on, the reader itself proposes: it is asked for their objects in every message ("someone lives in
what?").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nscma_torch.reading.fact_proposer import FactProposer, Proposal
from nscma_torch.reading.fact_questions import object_question, subject_question
from nscma_torch.reading.reader import Reader, ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import STANCES
from nscma_torch.reading.relations import Schema

LIKELY = 0.08  # minimum probability of a proposal (object placed and told) for asking the reader
MOST_ASKED = 8  # proposals of a message
# of a fact's confidence: the proposer's views of its object, that it is told and its subject; the reader's of both last
INTERCEPT, WEIGHTS = -1.23, (0.18, 0.23, 0.0, 0.38, 0.22)
UNLIKE = 0.1  # share that is left of a subject on which proposer and reader differ
EVIDENCE, SHARE = 0.2, 0.1  # of the reader's own proposals: least probability that a message tells one, and least share


_EVEN = tuple([1 / len(STANCES)] * len(STANCES))


@dataclass(frozen=True, slots=True)
class ReadFact:
    """A fact found in a message, in the words of the message or of the turns before it.

    `topic` is "" for a relation without topics. `stances` has the probability of each of `STANCES`. `features` are the
    inputs from which the confidence is computed.
    """

    relation: str
    subject: ReadSpan
    object: ReadSpan
    stances: tuple[float, ...]
    topic: str
    features: tuple[float, ...]

    @property
    def told(self) -> float:
        """Return the reader's probability that the message states the fact in any stance."""
        return self.features[3]

    @property
    def confidence(self) -> float:
        """Return the probability that the message states the fact.

        It is a logistic function of `features`, fitted on development data.
        """
        x = sum(weight * _logit(p) for weight, p in zip(WEIGHTS, self.features, strict=True))
        return 1 / (1 + math.exp(-(INTERCEPT + x)))

    @property
    def stance(self) -> str:
        """Return the most likely stance."""
        return STANCES[max(range(len(STANCES)), key=self.stances.__getitem__)]

    @property
    def over(self) -> float:
        """Return the probability that the fact has ended or is denied."""
        return sum(p for p, stance in zip(self.stances, STANCES, strict=True) if stance in ("ended", "denied"))


class MessageFacts(NamedTuple):
    """Statements in a message.

    Also contains, for each relation known to the proposer, the probability that the message states a fact in it.
    """

    facts: tuple[ReadFact, ...]
    picks: Mapping[str, float]


class FactReader:
    """Reads facts in the relations of a schema; each relation needs a template and a meaning."""

    def __init__(self, proposer: FactProposer, reader: Reader, schema: Schema) -> None:
        self._proposer = proposer
        self._reader = reader
        self._schema = schema
        self._new = [relation for name, relation in schema.relations.items() if name not in proposer.relations]

    def read(self, messages: Sequence[Sequence[InputPassage]]) -> list[MessageFacts]:
        """Read the statements in the last passage in each list, using the earlier passages as context."""
        proposals = self._proposer.propose(messages)
        others = self._of_new_relations(messages)
        asked = [(i, one) for i, own in enumerate(proposals) for one in [*likely(own.facts), *others[i]]]
        questions = [subject_question(self._schema[one.relation], one.object.text, one.topic) for _, one in asked]
        results = self._reader.read(questions, [messages[i] for i, _ in asked])
        found: list[list[ReadFact]] = [[] for _ in messages]
        for (i, one), result in zip(asked, results, strict=True):
            if result.spans:
                found[i].append(_judged(one, result))
        return [MessageFacts(tuple(facts), own.picks) for facts, own in zip(found, proposals, strict=True)]

    def _of_new_relations(self, messages: Sequence[Sequence[InputPassage]]) -> list[list[Proposal]]:
        asked = [(i, relation) for i in range(len(messages)) for relation in self._new]
        results = self._reader.read([object_question(one) for _, one in asked], [messages[i] for i, _ in asked])
        found: list[list[Proposal]] = [[] for _ in messages]
        for (i, relation), result in zip(asked, results, strict=True):
            told = result.evidence[-1]
            for span in result.spans if told >= EVIDENCE else ():
                if span.of_text and span.passage == len(messages[i]) - 1 and span.share >= SHARE:
                    found[i].append(Proposal(relation.name, None, span, "", told, span.share, _EVEN))
        return found


def likely(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals for the reader to verify, most likely first."""
    ordered = sorted(proposals, key=lambda one: -one.placed * one.told)
    return [one for one in ordered if one.placed * one.told >= LIKELY][:MOST_ASKED]


def _judged(proposal: Proposal, result: ReadResult) -> ReadFact:
    """Combine a proposal with the reader's result.

    The subject is taken from the surer of the two, and stance probabilities are averaged geometrically.
    """
    read = result.spans[0]
    own = proposal.subject or read
    told = result.evidence[-1]
    stances = [math.sqrt(a * b) for a, b in zip(proposal.stances, result.stances, strict=True)]
    share = read.share * (1.0 if own.text.casefold() == read.text.casefold() else UNLIKE)
    return ReadFact(
        proposal.relation,
        max(own, read, key=lambda span: span.share),
        proposal.object,
        tuple(p / sum(stances) for p in stances),
        proposal.topic,
        (proposal.placed, proposal.told, own.share, told, share),
    )


def _logit(p: float) -> float:
    p = min(max(p, 1e-4), 1 - 1e-4)
    return math.log(p / (1 - p))
