"""Facts follow messages that change, and belong to a user and an agent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Message
from tests.helpers.noting import DEFERRED, day, everything, held, say, spans, tell

Open = Callable[..., Memory]


def test_facts_follow_their_messages(memory: Memory) -> None:
    first = tell(memory, "{Ben|lives_in|Rome}", 1)
    second = tell(memory, "{Ben|lives_in|Oslo}", 9)
    before = everything(memory)
    assert memory.delete(second, user_id="ada", now=day(10))
    memory.flush()
    assert spans(memory, "Ben", "lives_in") == [("Rome", day(1), None, "active")]
    assert memory.restore(second, user_id="ada", now=day(11))
    memory.flush()
    assert everything(memory) == before
    memory.update(second, "{Ben|lives_in|Bern}", user_id="ada", now=day(12))
    memory.flush()
    assert held(memory) == ["Bern"]
    memory.update(first, "Nothing of note.", user_id="ada", now=day(13))
    memory.flush()
    assert spans(memory, "Ben", "lives_in") == [("Bern", day(9), None, "active")]
    assert memory.delete_all(user_id="ada", now=day(14)) == 2
    memory.flush()
    assert everything(memory) == []
    assert memory.stats(user_id="ada").facts == {}
    assert memory.verify() == []
    assert held(memory, known_at=day(9.5)) == ["Oslo"]


def test_a_deleted_message_takes_its_support_along(memory: Memory) -> None:
    tell(memory, "{Ben|likes|tea}", 1)
    again = tell(memory, "{Ben|likes|tea}", 2)
    memory.delete(again, user_id="ada", now=day(3))
    memory.flush()
    (fact,) = memory.facts(user_id="ada")
    assert fact.strength == 1


def test_changes_count_before_the_message_was_ever_worked_in(noted: Open) -> None:
    """Updated, deleted, or deleted and restored, with its extraction still in the queue."""
    memory, other = noted("memory.db"), noted("other.db")
    for one in (memory, other):
        updated, deleted, back = (say(one, f"{{Ben|likes|{thing}}}", 1).id for thing in ("tea", "jazz", "chess"))
        if one is other:
            one.flush()
        one.update(updated, "{Ben|likes|coffee}", user_id="ada", now=day(2))
        one.delete(deleted, user_id="ada", now=day(2))
        one.delete(back, user_id="ada", now=day(2))
        one.restore(back, user_id="ada", now=day(2))
        one.flush()
        assert held(one) == ["chess", "coffee"]
        assert one.verify() == []
    assert memory.digest() == other.digest()


def test_a_message_that_will_expire_makes_no_lasting_fact(memory: Memory) -> None:
    memory.add(Message("user", "{Ben|lives_in|Rome}", day(1)), user_id="ada", expiration_date=day(30), now=day(1))
    memory.flush()
    assert everything(memory) == []


def test_what_the_gate_defers_is_read_when_somebody_recalls_it(noted: Open) -> None:
    memory = noted(config=DEFERRED)
    tell(memory, "The zebra says {Ben|lives_in|Rome}", 1)
    tell(memory, "The lion says {Ben|likes|tea}", 1)
    assert everything(memory) == []
    memory.search("zebra", user_id="ada", top_k=1, now=day(2))
    memory.flush()
    assert held(memory) == ["Rome"]


# Whose facts they are


def test_agents_have_facts_of_their_own(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|lives_in|Oslo}", 2, agent_id="cook")
    tell(memory, "{Ben|lives_in|Bern}", 3, agent_id="coach", run_id="r1")
    assert held(memory) == ["Bern", "Oslo", "Rome"]
    assert held(memory, agent_id="cook") == ["Oslo"]
    assert held(memory, agent_id="coach") == ["Bern"]
    assert held(memory, agent_id="nobody") == []
    assert memory.conflicts(user_id="ada") == []
    assert [one.scope.agent_id for one in memory.facts(user_id="ada", agent_id="cook")] == ["cook"]
    assert [one.object for one in memory.decisions(user_id="ada", agent_id="cook")] == ["Oslo"]
    assert [one.object for one in memory.timeline("Ben", "lives_in", user_id="ada", agent_id="coach")] == ["Bern"]
    assert "Oslo" in memory.ask("Where does Ben live?", user_id="ada", agent_id="cook", now=day(5)).text


def test_runs_of_one_agent_share_their_facts(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1, agent_id="cook", run_id="r1")
    tell(memory, "{Ben|lives_in|Oslo}", 2, agent_id="cook", run_id="r2")
    assert held(memory, agent_id="cook") == ["Oslo"]


def test_an_unknown_relation_is_an_error_that_names_the_known_ones(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    with pytest.raises(InvalidInputError, match=r"dwells_at.*lives_in"):
        memory.facts(user_id="ada", relation="dwells_at")
    with pytest.raises(InvalidInputError, match="dwells_at"):
        memory.timeline("Ben", "dwells_at", user_id="ada")


def test_statements_of_an_unknown_relation_fail_visibly(memory: Memory) -> None:
    tell(memory, "{Ben|dwells_at|Rome}", 1)
    assert memory.stats().jobs_failed == 1
    assert "dwells_at" in memory.stats().failures[0]
    assert everything(memory) == [] and memory.verify() == []


def test_an_edit_that_changes_dates_and_certainty_alone_changes_the_fact(memory: Memory) -> None:
    """The same statement at the same place is still the same, and what it says of time is the new text's."""
    said = tell(memory, "{Ben|lives_in|Rome|since 2020-03-01|sure 0.5}", 1)
    memory.update(said, "{Ben|lives_in|Rome|since 2021-03-01|sure 0.8}", user_id="ada", now=day(2))
    memory.flush()
    tell(memory, "{Ben|lives_in|Rome|since 2021-03-01|sure 0.8}", 1, user_id="bob")
    (edited,), (fresh,) = memory.facts(user_id="ada"), memory.facts(user_id="bob")
    assert (edited.valid_from, edited.confidence) == (fresh.valid_from, fresh.confidence)
    assert memory.verify() == []
