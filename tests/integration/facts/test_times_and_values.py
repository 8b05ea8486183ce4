"""Facts through `Memory`: their sources, their times on both clocks, one value and many."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nscma_torch.api.memory import Memory
from tests.helpers.noting import day, everything, held, log, spans, tell

Open = Callable[..., Memory]


# Sources, times and the two clocks


def test_a_fact_has_times_confidence_and_the_message_that_it_comes_from(memory: Memory) -> None:
    source = tell(memory, "By the way: {Ben|lives_in|Rome|sure 0.8}", 1, stored=2)
    (fact,) = memory.facts(user_id="ada")
    assert (fact.subject, fact.relation, fact.object, fact.topic) == ("Ben", "lives_in", "Rome", "")
    assert (fact.valid_from, fact.valid_to) == (day(1), None)
    assert (fact.recorded_at, fact.retired_at) == (day(2), None)
    assert (fact.status, fact.strength, fact.episode_ids) == ("active", 1, (source,))
    assert fact.confidence == pytest.approx(0.8)
    (decision,) = log(memory)
    assert (decision.action, decision.fact_ids, decision.undone) == ("ADD", (fact.id,), False)
    assert decision.reason
    assert memory.stats(user_id="ada").facts == {"active": 1}


def test_both_clocks(memory: Memory) -> None:
    """Each cell: what was believed at one time of what held at another."""
    tell(memory, "{Ben|lives_in|Rome}", 1, stored=2)
    tell(memory, "{Ben|lives_in|Oslo}", 9, stored=11)
    tell(memory, "{Ben|lives_in|Bern}", 5, stored=30)
    table = {
        (1, 1): [],
        (1, 10): ["Rome"],
        (3, 10): ["Rome"],
        (7, 10): ["Rome"],
        (20, 10): ["Rome"],
        (7, 12): ["Rome"],
        (20, 12): ["Oslo"],
        (3, 40): ["Rome"],
        (7, 40): ["Bern"],
        (20, 40): ["Oslo"],
        (0, 40): [],
    }
    for (world, system), wanted in table.items():
        assert held(memory, as_of=day(world), known_at=day(system)) == wanted, (world, system)
    assert held(memory) == held(memory, known_at=day(40)) == ["Oslo"]
    assert [one[0] for one in spans(memory, "Ben", "lives_in")] == ["Rome", "Bern", "Oslo"]


def test_believed_then_is_kept_when_it_turns_out_wrong(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    target = tell(memory, "{Ben|lives_in|Oslo}", 5)
    memory.delete(target, user_id="ada", now=day(8))
    memory.flush()
    assert held(memory) == ["Rome"]
    assert held(memory, known_at=day(6)) == ["Oslo"]


def test_facts_outlive_the_process(noted: Open) -> None:
    memory = noted()
    tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|lives_in|Oslo}", 9)
    facts, decisions, digest = everything(memory), log(memory), memory.digest()
    memory.close()
    again = noted()
    assert (everything(again), log(again), again.digest()) == (facts, decisions, digest)


# One value and many


def test_topics_subjects_and_relations_are_apart(memory: Memory) -> None:
    tell(memory, "{Ben|favourite/colour|red} {Ben|favourite/film|Brazil} {Anna|favourite/colour|blue}", 1)
    tell(memory, "{Ben|favourite/colour|green} {Ben|lives_in|Rome}", 2)
    assert held(memory, "favourite", subject="Ben", topic="colour") == ["green"]
    assert held(memory, "favourite", subject="Ben") == ["Brazil", "green"]
    assert held(memory, "favourite", topic="colour") == ["blue", "green"]
    assert held(memory) == ["Brazil", "Rome", "blue", "green"]
    assert held(memory, subject="nobody") == []


def test_case_and_articles_do_not_tell_names_apart(memory: Memory) -> None:
    tell(memory, "{the Cellar|located_in|the House}", 1)
    tell(memory, "{THE CELLAR|located_in|house}", 2)
    (fact,) = memory.facts(user_id="ada", subject="a cellar")
    assert (fact.subject, fact.object, fact.strength) == ("the Cellar", "the House", 2)


def test_the_same_again_strengthens_and_is_no_second_fact(memory: Memory) -> None:
    sources = [tell(memory, "{Ben|lives_in|Rome|sure 0.5}", at) for at in (1, 2, 3)]
    (fact,) = memory.facts(user_id="ada", archived=True)
    assert fact.strength == 3
    assert fact.confidence == pytest.approx(1 - 0.5**3)
    assert set(fact.episode_ids) == set(sources)
    assert fact.valid_from == day(1)
    assert [decision.action for decision in log(memory)] == ["ADD", "NOOP", "NOOP"]
