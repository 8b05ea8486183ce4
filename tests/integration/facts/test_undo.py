"""Every decision of the curator can be taken back, in reverse order to the exact state of before each."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import InvalidInputError, NotFoundError
from nscma_torch.core.records import CuratorDecision, Statement
from nscma_torch.episodic.log import episodes
from nscma_torch.reading.self_repair import repair_chinese
from nscma_torch.semantic.store import statements
from tests.helpers.noting import bare, day, everything, held, log, say, stated, tell

Open = Callable[..., Memory]


def read(memory: Memory, message: str, text: str) -> None:
    """Take in what a message states, and nothing else that reading it would store."""
    take_in(memory, message, stated(text))


def take_in(memory: Memory, message: str, made: Sequence[Statement]) -> None:
    with memory.components.database.write(ALL_USERS) as connection:
        seq, _ = episodes.require(connection, "ada", message)
        statements.replace(connection, episodes.row_of(connection, seq), made)
    memory.flush()


def undo(memory: Memory, decision: CuratorDecision, **more: Any) -> CuratorDecision:
    return memory.undo(decision.id, **{"user_id": "ada", "now": day(900), **more})


def undo_all(memory: Memory, since: int) -> None:
    """Undo all decisions but the first ones, the latest first."""
    for decision in reversed(log(memory)[since:]):
        if not decision.undone:
            undo(memory, decision)


def message(rng: random.Random, named: bool) -> tuple[str, int, str]:
    place, thing, who = rng.choice(("Rome", "Oslo", "Bern")), rng.choice(("tea", "jazz")), rng.choice(("Ben", "Anna"))
    mark = rng.choice(("", "", "", "|not", "|sorry", "|once", "|was Rome", "|sure 0.6", "|since 2024-01-20"))
    texts = [
        f"{{{who}|lives_in|{place}{mark}}}",
        f"{{{who}|likes|{thing}{mark}}}",
        f"{{{who}|dislikes|{thing}}}",
        f"{{{who}|favourite/colour|{rng.choice(('red', 'blue'))}{mark}}} {{{who}|works_at|Acme{mark}}}",
        f"{{{who}|works_at||not}} {{{who}|lives_in|{place}}} {{{who}|likes|{thing}}}",
    ]
    if named:
        texts += [f"{{user|named|{who}}}", f"{{user|lives_in|{place}}}"]
    return rng.choice(texts), rng.randrange(60), rng.choice(("Ben", "Anna", "Carl"))


@pytest.mark.parametrize("named", [True, pytest.param(False, marks=pytest.mark.prove)])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(1, 30))])
def test_undone_in_reverse_order_each_state_is_exactly_that_of_before(seed: int, named: bool, memory: Memory) -> None:
    rng = random.Random(seed)
    said = [message(rng, named) for _ in range(18)]
    ids = [say(memory, text, at, stored=100, name=name, infer=False).id for text, at, name in said]
    before = []
    for memory_id, (text, _, _) in zip(ids, said, strict=True):
        before.append((len(log(memory)), memory.digest(), everything(memory)))
        read(memory, memory_id, text)
    after = memory.digest()
    for n, digest, facts in reversed(before):
        undo_all(memory, n)
        assert everything(memory) == facts
        assert memory.digest() == digest
    assert before[0][2] == [] and after != before[0][1]
    assert all(decision.undone for decision in log(memory))
    assert memory.verify() == []
    print(f"seed {seed}: {len(log(memory))} decisions undone one by one, each digest as before")


def test_undo_brings_back_what_was_replaced(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|lives_in|Oslo}", 9)
    first, second = log(memory)
    done = undo(memory, second, now=day(20))
    assert (done.id, done.undone) == (second.id, True)
    assert held(memory) == ["Rome"]
    assert held(memory, known_at=day(15)) == ["Oslo"], "what was believed until then stays known"
    assert [decision.undone for decision in log(memory)] == [False, True]
    undo(memory, first)
    assert everything(memory) == []


def test_undo_of_a_correction_in_the_same_message_restores_what_was_said_first(memory: Memory) -> None:
    text = "我今年34岁，说错了，43岁。"
    message_id = say(memory, text, 1, infer=False).id
    take_in(memory, message_id, repair_chinese([Statement("Ben", "age", "34", end=len(text))], text, day(1)))
    assert held(memory) == ["43"]
    added, corrected = log(memory)
    undo(memory, corrected)
    assert held(memory) == ["34"]
    undo(memory, added)
    assert everything(memory) == []


@pytest.mark.parametrize(
    "first, second",
    [
        ("{Ben|lives_in|Rome}", "{Ben|lives_in|Oslo}"),
        ("{Ben|lives_in|Rome}", "{Ben|lives_in|Rome}"),
        ("{Ben|likes|tea}", "{Ben|likes|tea|not}"),
        ("{Ben|likes|tea}", "{Ben|dislikes|tea}"),
        ("{Ben|lives_in|Rome}", "{Ben|lives_in|Bern|sorry}"),
        ("{Ben|lives_in|Rome}", "{Ben|lives_in|Bern|was Rome}"),
    ],
)
def test_what_a_later_decision_rests_on_is_not_undone(first: str, second: str, memory: Memory) -> None:
    tell(memory, first, 1)
    tell(memory, second, 1.5)
    early, late = log(memory)
    digest, decisions = memory.digest(), log(memory)
    with pytest.raises(InvalidInputError, match=late.id):
        undo(memory, early)
    assert (memory.digest(), log(memory)) == (digest, decisions)
    undo(memory, late)
    undo(memory, early)
    assert everything(memory) == []


def test_what_rests_on_nothing_later_is_undone_alone(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|likes|tea}", 2)
    tell(memory, "{Anna|lives_in|Rome}", 3)
    undo(memory, log(memory)[0])
    assert held(memory) == ["Rome", "tea"]
    assert held(memory, "lives_in", subject="Ben") == []


def test_undo_refuses_twice_unknown_and_foreign(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|lives_in|Rome}", 1, user_id="eve")
    (mine,) = log(memory)
    for user, key in (("eve", mine.id), ("ada", log(memory, "eve")[0].id), ("ada", "no such id"), ("nobody", mine.id)):
        with pytest.raises(NotFoundError):
            memory.undo(key, user_id=user)
    undo(memory, mine)
    with pytest.raises(InvalidInputError, match="already"):
        undo(memory, mine)
    assert held(memory, user_id="eve") == ["Rome"]


def test_what_was_undone_stays_so(noted: Open) -> None:
    """Through flush, sleep, a deletion taken back, reading the message anew, another process and an export."""
    memory, copy = noted("memory.db"), noted("copy.db")
    source = tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|likes|tea}", 2)
    undo(memory, log(memory)[0])
    memory.flush()
    assert held(memory) == ["tea"]
    memory.sleep(now=day(3))
    assert held(memory) == ["tea"]
    memory.delete(source, user_id="ada", now=day(4))
    memory.flush()
    memory.restore(source, user_id="ada", now=day(4))
    memory.flush()
    assert held(memory) == ["tea"]
    memory.update(source, "As I said: {Ben|likes|jazz}", user_id="ada", now=day(5))
    memory.flush()
    assert held(memory) == ["jazz", "tea"]
    memory.update(source, "{Ben|lives_in|Rome}", user_id="ada", now=day(6))
    memory.flush()
    assert held(memory) == ["tea"]
    tell(memory, "{Anna|likes|jazz}", 7)
    copy.import_(list(memory.export()))
    copy.flush()
    copy.sleep(now=day(8))
    assert held(copy) == ["jazz", "tea"]
    memory.close()
    assert held(noted("memory.db")) == ["jazz", "tea"]


def test_what_was_undone_can_be_said_again(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    undo(memory, log(memory)[0])
    tell(memory, "{Ben|lives_in|Rome}", 5)
    (fact,) = memory.facts(user_id="ada", archived=True)
    assert (fact.object, fact.valid_from, fact.strength) == ("Rome", day(5), 1)
    assert [(one.action, one.undone) for one in log(memory)] == [("ADD", True), ("ADD", False)]


def test_undo_works_while_other_messages_wait(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|lives_in|Oslo}", 5)
    say(memory, "{Ben|lives_in|Bern}", 9)
    undo(memory, log(memory)[1])
    assert held(memory) == ["Rome"]
    memory.flush()
    assert held(memory) == ["Bern"]
    assert held(memory, as_of=day(7)) == ["Rome"]
    assert memory.verify() == []


def test_a_message_that_went_leaves_a_decision_that_can_still_be_undone(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    gone = tell(memory, "{Ben|lives_in|Oslo}", 5)
    memory.delete(gone, user_id="ada", now=day(6))
    memory.flush()
    assert held(memory) == ["Rome"]
    undo(memory, log(memory)[1])
    assert held(memory) == ["Rome"]
    memory.restore(gone, user_id="ada", now=day(7))
    memory.flush()
    assert held(memory) == ["Rome"]
    assert memory.verify() == []


# Forgetting


def test_undo_brings_back_what_was_forgotten(memory: Memory) -> None:
    target = tell(memory, "The zebra says {Rex|lives_in|Rome}", 1)
    tell(memory, "The zebra says {Rex|likes|tea} {Rex|likes|jazz}", 1)
    memory.sleep(now=day(2))
    before, facts, decisions = memory.digest(), everything(memory), log(memory)
    report = memory.sleep(now=day(800))
    assert (report.forgotten_facts, report.forgotten_messages) == (3, 2)
    assert held(memory) == [] and memory.search("zebra", user_id="ada", now=day(801)) == []
    made = log(memory)[len(decisions) :]
    assert [decision.action for decision in made] == ["ARCHIVE"] * 5
    assert all(decision.reason for decision in made)
    for decision in reversed(made):
        undo(memory, decision)
    assert everything(memory) == facts
    assert memory.digest() == before
    assert held(memory) == ["Rome", "jazz", "tea"]
    assert target in {hit.id for hit in memory.search("zebra", user_id="ada", now=day(801))}
    assert memory.verify() == []


def test_one_forgotten_fact_is_brought_back_alone(memory: Memory) -> None:
    tell(memory, "{Rex|lives_in|Rome} {Rex|likes|tea}", 1)
    memory.sleep(now=day(800))
    (decision,) = [one for one in log(memory) if one.action == "ARCHIVE" and one.object == "Rome"]
    undo(memory, decision)
    assert held(memory) == ["Rome"]


# Entities that may be one


def alike(memory: Memory) -> None:
    tell(memory, "{Anna|lives_in|Rome}", 1)
    tell(memory, "{Anna Schmidt|works_at|Acme} {Anna Schmidt|likes|tea}", 2)
    tell(memory, "{Konstantin|likes|jazz} {Konstantyn|lives_in|Oslo}", 3)


def proposals(memory: Memory) -> list[CuratorDecision]:
    return [decision for decision in log(memory) if decision.action == "PROPOSE" and not decision.undone]


def test_likeness_only_proposes(memory: Memory) -> None:
    alike(memory)
    before = everything(memory)
    for night in range(4, 9):
        memory.sleep(now=day(night))
    assert {frozenset((one.subject, one.object)) for one in proposals(memory)} == {
        frozenset(("anna", "anna schmidt")),
        frozenset(("konstantin", "konstantyn")),
    }
    assert all(decision.reason for decision in proposals(memory))
    assert everything(memory) == before
    assert held(memory, subject="Anna") == ["Rome"] and held(memory, subject="Konstantin") == ["jazz"]
    assert not any(decision.action == "MERGE" for decision in log(memory))


def test_a_proposal_is_followed_and_taken_back(memory: Memory) -> None:
    alike(memory)
    memory.sleep(now=day(4))
    before, facts = memory.digest(), everything(memory)
    (proposal,) = [one for one in proposals(memory) if "anna" in (one.subject, one.object)]
    merge = memory.merge(proposal.id, user_id="ada", now=day(5))
    assert merge.action == "MERGE" and merge.reason
    for name in ("Anna", "Anna Schmidt"):
        assert held(memory, subject=name) == ["Acme", "Rome", "tea"]
    assert len({fact.subject for fact in memory.facts(user_id="ada")}) == 3
    assert memory.digest() != before
    undo(memory, merge)
    assert everything(memory) == facts
    assert memory.digest() == before
    assert held(memory, subject="Anna") == ["Rome"]
    assert memory.verify() == []


def test_what_two_names_said_apart_is_weighed_together_once_they_are_one(memory: Memory) -> None:
    tell(memory, "{Konstantin|lives_in|Rome}", 1)
    tell(memory, "{Konstantyn|lives_in|Oslo}", 9)
    memory.sleep(now=day(10))
    before = memory.digest()
    (proposal,) = proposals(memory)
    merge = memory.merge(proposal.id, user_id="ada", now=day(11))
    assert held(memory) == ["Oslo"]
    assert held(memory, as_of=day(5)) == ["Rome"]
    tell(memory, "{Konstantin|lives_in|Bern}", 12)
    assert held(memory, subject="Konstantyn") == ["Bern"]
    with pytest.raises(InvalidInputError):
        undo(memory, merge)
    undo(memory, log(memory)[-1])
    undo(memory, merge)
    assert sorted(held(memory)) == ["Oslo", "Rome"]
    tell(memory, "Nothing.", 13)
    assert memory.verify() == [] and before != memory.digest()


def test_a_dismissed_proposal_is_not_made_again(memory: Memory) -> None:
    alike(memory)
    memory.sleep(now=day(4))
    proposal, other = proposals(memory)
    undo(memory, proposal)
    memory.sleep(now=day(5))
    assert [one.id for one in proposals(memory)] == [other.id]
    with pytest.raises(InvalidInputError):
        memory.merge(proposal.id, user_id="ada")


def test_merge_takes_proposals_of_its_user_alone(memory: Memory) -> None:
    alike(memory)
    memory.sleep(now=day(4))
    tell(memory, "Hello.", 5, user_id="eve")
    proposal = proposals(memory)[0]
    digest = memory.digest()
    for user, key in (("eve", proposal.id), ("ada", "no such id")):
        with pytest.raises(NotFoundError):
            memory.merge(key, user_id=user)
    with pytest.raises(InvalidInputError):
        memory.merge(log(memory)[0].id, user_id="ada")
    assert memory.digest() == digest
    memory.merge(proposal.id, user_id="ada", now=day(5))
    digest, decisions = memory.digest(), bare(log(memory))
    with pytest.raises(InvalidInputError):
        memory.merge(proposal.id, user_id="ada")
    assert (memory.digest(), bare(log(memory))) == (digest, decisions)


def test_a_name_that_was_stated_makes_two_one_and_undo_parts_them(memory: Memory) -> None:
    tell(memory, "{user|lives_in|Rome}", 1, name=None)
    tell(memory, "{Ben|likes|tea}", 2, name="Anna")
    memory.sleep(now=day(3))
    facts = everything(memory)
    tell(memory, "{user|named|Ben}", 4, name=None)
    assert held(memory, subject="Ben") == held(memory, subject="user") == ["Ben", "Rome", "tea"]
    (merge,) = [one for one in log(memory) if one.action == "MERGE"]
    undo(memory, merge)
    assert held(memory, subject="Ben") == ["tea"]
    assert held(memory, subject="user") == ["Ben", "Rome"]
    tell(memory, "{Ben|likes|jazz}", 5, name="Anna")
    memory.sleep(now=day(6))
    assert held(memory, subject="user") == ["Ben", "Rome"], "they stay apart"
    undo_all(memory, 2)
    assert everything(memory) == facts


def test_chains_of_merges(memory: Memory) -> None:
    """Each into another that is merged in turn; then parted again, the latest first."""
    for at, name in enumerate(("Konstantin", "Konstantyn", "Konstantyna"), start=1):
        tell(memory, f"{{{name}|likes|thing {at}}}", at)
    memory.sleep(now=day(9))
    states = []
    for proposal in proposals(memory):
        states.append((memory.digest(), everything(memory)))
        memory.merge(proposal.id, user_id="ada", now=day(10))
        assert memory.verify() == []
    assert (
        held(memory, subject="Konstantyna") == held(memory, subject="Konstantin") == ["thing 1", "thing 2", "thing 3"]
    )
    merges = [one for one in log(memory) if one.action == "MERGE"]
    assert len(merges) == len(states) == 2
    for merge, (digest, facts) in zip(reversed(merges), reversed(states), strict=True):
        undo(memory, merge)
        assert everything(memory) == facts
        assert memory.digest() == digest
