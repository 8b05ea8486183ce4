"""What a review of facts from the outside found: odd arguments, proposals that are dismissed, recalls, growth."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import NscmaError
from nscma_torch.semantic.store.facts import NewFact
from nscma_torch.semantic.timeline.claims import Claim, Rules
from nscma_torch.semantic.timeline.resolve_claims import resolve
from tests.helpers.noting import day, everything, held, log, tell


def test_a_naive_time_means_utc_in_questions_to_facts_too(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|lives_in|Oslo}", 5)
    naive = datetime(2024, 1, 4)
    answer = memory.ask("Where does Ben live?", user_id="ada", as_of=naive, now=day(9))
    assert answer.text == "Rome" and answer.facts
    assert held(memory, as_of=naive) == ["Rome"]


@pytest.mark.parametrize("clause", [{"as_of": "soon"}, {"known_at": [1]}, {"subject": ""}, {"subject": 5}])
def test_bad_clauses_get_one_clear_error(clause: dict[str, Any], memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    with pytest.raises(NscmaError, match=r"time|must be a name"):
        memory.facts(user_id="ada", **clause)


def test_dismissing_a_proposal_leaves_what_was_said(memory: Memory) -> None:
    tell(memory, "{Anna|named|Sunny} {Anna|lives_in|Rome}", 1)
    tell(memory, "{Bob|named|Sunny} {Bob|lives_in|Oslo}", 2)
    (proposal,) = [decision for decision in log(memory) if decision.action == "PROPOSE"]
    before = everything(memory)
    memory.undo(proposal.id, user_id="ada", now=day(3))
    assert everything(memory) == before
    assert [one.id for one in log(memory) if one.undone] == [proposal.id]
    tell(memory, "{Bob|named|Sunny}", 4)
    assert [one.action for one in log(memory)].count("PROPOSE") == 1


def _hashed_for_one_more(memory: Memory, monkeypatch: pytest.MonkeyPatch, number: int, user_id: str) -> int:
    """How often facts were hashed for one more statement beside so many on the same subject."""
    tell(memory, " ".join(f"{{Ben|likes|thing{i}}}" for i in range(number)), 1, user_id=user_id)
    hashed = 0
    plain = NewFact.__hash__

    def counted(fact: NewFact) -> int:
        nonlocal hashed
        hashed += 1
        return plain(fact)

    with monkeypatch.context() as patched:
        patched.setattr(NewFact, "__hash__", counted)
        tell(memory, "{Ben|likes|one more}", 2, user_id=user_id)
    return hashed


def test_one_more_among_many_objects_costs_in_proportion(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    few = _hashed_for_one_more(memory, monkeypatch, 20, "ada")
    many = _hashed_for_one_more(memory, monkeypatch, 80, "eve")
    assert 0 < many < 6 * few


def test_many_decisions_at_once_have_ids_of_their_own(memory: Memory) -> None:
    tell(memory, " ".join("{Ben|likes|tea}" for _ in range(40)), 1)
    tell(memory, " ".join("{Ben|lives_in|Rome} {Ben|lives_in|Oslo}" for _ in range(20)), 2)
    made = log(memory)
    assert len(made) == 80 == len({one.id for one in made})


def test_a_side_that_lost_is_found_again_among_many() -> None:
    """`_Fold._lost` by value: later claims for an outweighed side add to it, whatever else was said in between."""
    rules = Rules(half_life=10**12, decision_ratio=1.25, correction_window=10)
    weak = Claim(0, "Oslo", 20, 0, "tool", trust=0.6)
    claims = [Claim(1, "Rome", 10, 0, "Anna"), weak, Claim(2, "Oslo", 30, 0, "Carl", trust=0.6)]
    spans = resolve(claims, rules).spans
    assert {span.value: span.status for span in spans} == {"Rome": "disputed", "Oslo": "disputed"}
    assert next(span for span in spans if span.value == "Oslo").claims == (0, 2)


@pytest.mark.parametrize("question", ["Where does Ben live?", "Does Ben like tea?", "What does Ben like?"])
def test_what_was_forgotten_has_not_ended(question: str, memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome} {Ben|likes|tea}", 1)
    assert memory.ask(question, user_id="ada", now=day(2)).facts
    memory.sleep(user_id="ada", now=day(3600))
    assert held(memory) == []
    answer = memory.ask(question, user_id="ada", now=day(3600))
    assert not answer.facts and answer.text not in ("no", "none now")


def test_what_was_forgotten_after_it_was_told_to_end_has_ended(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome} {Ben|lives_in|Rome|not}", 1)
    memory.sleep(user_id="ada", now=day(3600))
    assert memory.ask("Where does Ben live?", user_id="ada", now=day(3600)).text == "none now"
