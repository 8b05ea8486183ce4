"""Facts are proposed, and the reader judges what is likely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from nscma_torch.reading.fact_proposer import FactProposer, Proposal, Proposals
from nscma_torch.reading.fact_reader import LIKELY, MOST_ASKED, FactReader, ReadFact
from nscma_torch.reading.reader import Reader, ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import STANCES
from nscma_torch.reading.relations import load_relations

SCHEMA = load_relations()
HOLDS = (1.0, *[0.0] * (len(STANCES) - 1))
EVEN = tuple([1 / len(STANCES)] * len(STANCES))
TEXT = "Clara moved to Porto in May"


def span(words: str, share: float = 0.9) -> ReadSpan:
    at = TEXT.index(words)
    return ReadSpan(words, 0, at, at + len(words), True, share)


PROPOSED = Proposal("lives_in", span("Clara"), span("Porto"), "", 0.9, 0.9, EVEN)


class Proposes(FactProposer):
    def __init__(self, *facts: Proposal, relations: Sequence[str] = tuple(SCHEMA.relations)) -> None:
        self.facts = facts
        self._names = list(relations)

    def propose(self, messages: Sequence[Sequence[InputPassage]]) -> list[Proposals]:
        return [Proposals(self.facts, {"lives_in": 0.8}) for _ in messages]


class Reads(Reader):
    def __init__(self, subject: ReadSpan | None, told: float = 0.9) -> None:
        self.result = ReadResult(() if subject is None else (subject,), told, (told,), (1.0,), HOLDS)
        self.asked: list[str] = []

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> list[ReadResult]:
        self.asked += questions
        return [self.result for _ in passages]


def facts(reader: Reader, *proposed: Proposal) -> tuple[ReadFact, ...]:
    (found,) = FactReader(Proposes(*proposed), reader, SCHEMA).read([[InputPassage(TEXT, "Ana")]])
    assert found.picks == {"lives_in": 0.8}
    return found.facts


def test_the_reader_is_asked_of_whom_it_is_said() -> None:
    reader = Reads(span("Clara"))
    (fact,) = facts(reader, PROPOSED)
    assert [asked.split("?")[0] for asked in reader.asked] == ["who lives in Porto"]
    assert (fact.relation, fact.subject.text, fact.object.text, fact.stance) == ("lives_in", "Clara", "Porto", "holds")


def test_a_statement_in_its_own_words_is_asked_in_them() -> None:
    reader = Reads(span("Clara"))
    (fact,) = facts(reader, replace(PROPOSED, relation="statement", topic="moved to"))
    assert reader.asked == ["who moved to Porto?"]
    assert fact.topic == "moved to"


def test_only_what_is_likely_is_asked_and_not_too_much() -> None:
    reader = Reads(span("Clara"))
    unlikely = replace(PROPOSED, placed=0.2, told=0.9 * LIKELY / 0.2)
    assert facts(reader, unlikely) == () and reader.asked == []
    assert len(facts(reader, *[PROPOSED] * (MOST_ASKED + 3))) == MOST_ASKED == len(reader.asked)
    best = replace(PROPOSED, relation="visited", told=0.99)
    assert facts(Reads(span("Clara")), *[PROPOSED] * MOST_ASKED, best)[0].relation == "visited"


def test_what_names_nobody_is_no_fact() -> None:
    assert facts(Reads(None), PROPOSED) == ()


@pytest.mark.parametrize(("share", "named"), [(0.8, "Clara"), (0.95, "May")])
def test_the_surer_of_both_names_the_subject(share: float, named: str) -> None:
    (fact,) = facts(Reads(span("May", share)), PROPOSED)
    assert fact.subject.text == named


def test_confidence_falls_where_they_differ_or_one_doubts() -> None:
    (sure,) = facts(Reads(span("Clara")), PROPOSED)
    (differs,) = facts(Reads(span("May")), PROPOSED)
    (doubted,) = facts(Reads(span("Clara"), told=0.2), PROPOSED)
    (unplaced,) = facts(Reads(span("Clara")), replace(PROPOSED, placed=0.2))
    assert max(differs.confidence, doubted.confidence, unplaced.confidence) < sure.confidence


def test_a_stance_needs_both() -> None:
    denied = tuple(0.93 if name == "denied" else 0.01 for name in STANCES)
    reader = Reads(span("Clara"))
    reader.result = replace(reader.result, stances=denied)
    wished = tuple(0.5 if name in ("wished", "denied") else 0.0 for name in STANCES)
    (fact,) = facts(reader, replace(PROPOSED, stances=wished))
    assert fact.stance == "denied"
    assert sum(fact.stances) == pytest.approx(1)


def test_of_a_relation_that_is_new_every_message_is_asked() -> None:
    known = [name for name in SCHEMA.relations if name != "lives_in"]
    reader = Reads(span("Porto"))
    (found,) = FactReader(Proposes(relations=known), reader, SCHEMA).read([[InputPassage(TEXT, "Ana")]])
    (fact,) = found.facts
    assert (fact.relation, fact.object.text) == ("lives_in", "Porto")
    assert ["what?" in asked for asked in reader.asked] == [True, False]
    silent = Reads(span("Porto"), told=0.1)
    assert FactReader(Proposes(relations=known), silent, SCHEMA).read([[InputPassage(TEXT, "Ana")]])[0].facts == ()
