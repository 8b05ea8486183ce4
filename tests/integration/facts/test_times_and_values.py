"""Facts through `Memory`: their sources, their times on both clocks, one value and many."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nscma_torch.memory import Memory
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


def test_times_that_a_message_names_itself_go_before_those_when_it_was_said(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome|since 2023-06-01|until 2023-09-01}", 1)
    tell(memory, "{Ben|lives_in|Oslo|since 2023-09-01}", 2)
    assert held(memory) == ["Oslo"]
    assert held(memory, as_of=day(-150)) == ["Rome"]
    assert held(memory, as_of=day(-100)) == ["Oslo"]
    assert held(memory, as_of=day(-300)) == []


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


def test_one_home_at_a_time(memory: Memory) -> None:
    for at, place in enumerate(("Rome", "Oslo", "Rome"), start=1):
        tell(memory, f"{{Ben|lives_in|{place}}}", at)
    assert spans(memory, "Ben", "lives_in") == [
        ("Rome", day(1), day(2), "archived"),
        ("Oslo", day(2), day(3), "archived"),
        ("Rome", day(3), None, "active"),
    ]
    assert [decision.action for decision in log(memory)] == ["ADD", "UPDATE", "UPDATE"]
    assert "Oslo" in log(memory)[2].reason
    assert all(fact.reason for fact in memory.facts(user_id="ada", archived=True))


def test_many_tastes_at_once(memory: Memory) -> None:
    for at, thing in enumerate(("tea", "jazz", "chess"), start=1):
        tell(memory, f"{{Ben|likes|{thing}}}", at)
    assert held(memory) == ["chess", "jazz", "tea"]
    assert [decision.action for decision in log(memory)] == ["ADD"] * 3
    tell(memory, "{Ben|likes|jazz|not}", 9)
    assert held(memory) == ["chess", "tea"]
    assert held(memory, as_of=day(5)) == ["chess", "jazz", "tea"]
    (jazz,) = memory.timeline("Ben", "likes", user_id="ada")[1:2]
    assert (jazz.object, jazz.status, jazz.valid_to) == ("jazz", "archived", day(9))


def test_from_one_to_another_ends_the_one_of_a_relation_with_many_values_too(memory: Memory) -> None:
    tell(memory, "{Ben|uses|vim} {Ben|uses|git}", 1)
    tell(memory, "{Ben|uses|emacs|was vim}", 2)
    assert held(memory) == ["emacs", "git"]


def test_what_something_replaces_ends_even_if_it_was_never_told(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Oslo|was Rome}", 4)
    assert held(memory) == ["Oslo"]
    rome, oslo = memory.timeline("Ben", "lives_in", user_id="ada")
    assert (rome.object, rome.status, rome.valid_from, rome.valid_to) == ("Rome", "archived", None, day(4))
    assert (oslo.object, oslo.status, oslo.valid_from) == ("Oslo", "active", day(4))
    assert held(memory, as_of=day(1)) == ["Rome"]


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


def test_liking_ends_disliking_the_same(memory: Memory) -> None:
    tell(memory, "{Ben|likes|tea} {Ben|likes|jazz}", 1)
    tell(memory, "{Ben|dislikes|tea}", 5)
    assert held(memory, "likes") == ["jazz"]
    assert held(memory, "dislikes") == ["tea"]
    assert held(memory, "likes", as_of=day(3)) == ["jazz", "tea"]
    assert held(memory, "dislikes", as_of=day(3)) == []
    tell(memory, "{Ben|likes|tea}", 9)
    assert held(memory, "likes") == ["jazz", "tea"]
    assert held(memory, "dislikes") == []


def test_a_number_that_changes(memory: Memory) -> None:
    for at, number in ((1, "two"), (4, "three"), (9, "five")):
        tell(memory, f"{{Ben|count/cats|{number}}} {{Ben|count/dogs|one}}", at)
    assert held(memory, "count", topic="cats") == ["five"]
    assert [held(memory, "count", topic="cats", as_of=day(n)) for n in (2, 5)] == [["two"], ["three"]]
    (dogs,) = memory.facts(user_id="ada", topic="dogs")
    assert (dogs.object, dogs.strength) == ("one", 3)


def test_the_same_again_strengthens_and_is_no_second_fact(memory: Memory) -> None:
    sources = [tell(memory, "{Ben|lives_in|Rome|sure 0.5}", at) for at in (1, 2, 3)]
    (fact,) = memory.facts(user_id="ada", archived=True)
    assert fact.strength == 3
    assert fact.confidence == pytest.approx(1 - 0.5**3)
    assert set(fact.episode_ids) == set(sources)
    assert fact.valid_from == day(1)
    assert [decision.action for decision in log(memory)] == ["ADD", "NOOP", "NOOP"]
