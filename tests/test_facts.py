"""Facts through `Memory`: what holds, what held, what was believed when, who contradicts whom, and the sources."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from sqlalchemy import select

from nscma_torch.errors import InvalidInputError
from nscma_torch.llm.embedded import EmbeddedTasks
from nscma_torch.memory import Memory
from nscma_torch.records import Message, Scope
from nscma_torch.storage import entities, groups, lanes
from nscma_torch.storage.fact_schema import statements
from nscma_torch.storage.groups import Key
from tests.noting import DEFERRED, bare, day, everything, held, log, opener, plain, say, tell

Open = Callable[..., Memory]


@pytest.fixture
def noted(open_memory: Open, light_proxy: Any) -> Open:
    return opener(open_memory, light_proxy)


@pytest.fixture
def memory(noted: Open) -> Memory:
    return noted()


def spans(memory: Memory, subject: str, relation: str, **more: Any) -> list[tuple[str, Any, Any, str]]:
    more.setdefault("user_id", "ada")
    return [(f.object, f.valid_from, f.valid_to, f.status) for f in memory.timeline(subject, relation, **more)]


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


# Out of order, corrections, retractions


@pytest.mark.parametrize("orders", [6, pytest.param(24, marks=pytest.mark.prove)])
def test_the_order_of_arrival_does_not_matter(orders: int, memory: Memory) -> None:
    said = [
        (2, "{Ben|lives_in|Rome}"),
        (5, "{Ben|lives_in|Oslo|was Rome}"),
        (7, "{Ben|lives_in|Oslo|not}"),
        (9, "{Ben|lives_in|Bern}"),
    ]
    for i, order in enumerate(random.Random(0).sample(list(permutations(said)), orders)):
        for at, text in order:
            tell(memory, text, at, stored=20, user_id=f"u{i}")
        assert spans(memory, "Ben", "lives_in", user_id=f"u{i}") == [
            ("Rome", day(2), day(5), "archived"),
            ("Oslo", day(5), day(7), "archived"),
            ("Bern", day(9), None, "active"),
        ]
    assert memory.verify() == []


def test_an_older_message_that_arrives_late_overrides_nothing(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Oslo}", 9)
    tell(memory, "{Ben|lives_in|Rome}", 2, stored=30)
    assert held(memory) == ["Oslo"]
    assert held(memory, as_of=day(5)) == ["Rome"]
    assert held(memory, as_of=day(5), known_at=day(20)) == []
    late = log(memory)[1]
    assert late.action == "ARCHIVE" and "late" in late.reason


def test_a_negation_that_is_older_than_what_it_denies_does_not_touch_it(memory: Memory) -> None:
    tell(memory, "{Ben|likes|tea}", 9)
    tell(memory, "{Ben|likes|tea|not}", 2, stored=30)
    assert held(memory) == ["tea"]


def test_a_retraction_leaves_nothing_in_its_place(memory: Memory) -> None:
    tell(memory, "{Ben|works_at|Acme}", 1)
    tell(memory, "{Ben|works_at|Acme|not}", 8)
    assert held(memory) == []
    assert held(memory, as_of=day(5)) == ["Acme"]
    assert log(memory)[-1].action == "ARCHIVE"


def test_a_retraction_without_an_object_ends_whatever_holds(memory: Memory) -> None:
    tell(memory, "{Ben|works_at|Acme} {Ben|likes|tea} {Ben|likes|jazz} {Anna|likes|tea}", 1)
    tell(memory, "{Ben|works_at||not} {Ben|likes||not}", 8)
    assert held(memory) == ["tea"]
    assert memory.facts(user_id="ada")[0].subject == "Anna"


def test_denying_what_does_not_hold_changes_nothing_that_does(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome} {Ben|likes|tea}", 1)
    before = everything(memory)
    tell(memory, "{Ben|lives_in|Oslo|not} {Ben|likes|jazz|not}", 8)
    assert [one for one in everything(memory) if one.status != "archived"] == before
    assert held(memory, as_of=day(5)) == ["Rome", "tea"]


def test_a_correction_says_that_it_never_was_so(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|lives_in|Oslo}", 10)
    tell(memory, "{Ben|lives_in|Bergen|sorry}", 10.1, stored=11)
    assert held(memory) == ["Bergen"]
    assert [held(memory, as_of=day(n)) for n in (5, 10.05, 12)] == [["Rome"], ["Bergen"], ["Bergen"]]
    assert held(memory, known_at=day(10.5)) == ["Oslo"]
    (never,) = [fact for fact in memory.timeline("Ben", "lives_in", user_id="ada") if fact.object == "Oslo"]
    assert never.status == "archived" and never.valid_from == never.valid_to
    assert "correct" in never.reason


def test_a_correction_that_names_what_was_wrong_reaches_far_back(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Oslo}", 1)
    tell(memory, "{Ben|works_at|Acme}", 2)
    tell(memory, "{Ben|lives_in|Bergen|sorry|was Oslo}", 200)
    assert held(memory, "lives_in") == held(memory, "lives_in", as_of=day(50)) == ["Bergen"]
    assert held(memory, "works_at") == ["Acme"]


def test_what_held_once_is_told_as_past(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Oslo}", 3)
    tell(memory, "{Ben|lives_in|Rome|once|until 2023-05-01}", 9)
    assert held(memory) == ["Oslo"]
    assert held(memory, as_of=day(-300)) == ["Rome"]
    assert held(memory, as_of=day(5)) == ["Oslo"]
    tell(memory, "{Ben|lives_in|Oslo|once}", 20)
    assert held(memory) == []
    assert held(memory, as_of=day(5)) == ["Oslo"]


# Who says it


def test_two_speakers_who_contradict_each_other_are_both_shown(memory: Memory) -> None:
    one = tell(memory, "{Anna|lives_in|Rome}", 1, name="Ben")
    other = tell(memory, "{Anna|lives_in|Oslo}", 2, name="Carl")
    ((rome, oslo),) = memory.conflicts(user_id="ada")
    assert {(rome.object, rome.episode_ids), (oslo.object, oslo.episode_ids)} == {("Rome", (one,)), ("Oslo", (other,))}
    assert {rome.status, oslo.status} == {"disputed"}
    assert held(memory) == ["Oslo", "Rome"]
    assert memory.stats(user_id="ada").facts == {"disputed": 2}
    answer = memory.ask("Where does Anna live?", user_id="ada", now=day(3))
    assert "Rome" in answer.text and "Oslo" in answer.text and answer.text.endswith("?")
    assert {fact.object for fact in answer.facts} == {"Rome", "Oslo"}
    assert {evidence.hit.id for evidence in answer.evidence} == {one, other}


def test_the_question_back_is_in_the_language_of_the_question(memory: Memory) -> None:
    tell(memory, "{小明|lives_in|北京}", 1, name="小红")
    tell(memory, "{小明|lives_in|上海}", 2, name="小刚")
    answer = memory.ask("小明住在哪里？", user_id="ada", now=day(3))
    assert "北京" in answer.text and "上海" in answer.text and answer.text.endswith("？")


@pytest.mark.parametrize("end", ["{Anna|lives_in|Oslo}", "{Anna|lives_in|Oslo|was Rome}"])
def test_a_dispute_ends_when_the_one_concerned_speaks(end: str, memory: Memory) -> None:
    tell(memory, "{Anna|lives_in|Rome}", 1, name="Ben")
    tell(memory, "{Anna|lives_in|Oslo}", 2, name="Carl")
    tell(memory, end, 3, name="Anna")
    assert memory.conflicts(user_id="ada") == []
    assert held(memory) == ["Oslo"]


def test_a_dispute_ends_when_others_side_with_one(memory: Memory) -> None:
    tell(memory, "{Anna|lives_in|Rome}", 1, name="Ben")
    tell(memory, "{Anna|lives_in|Oslo}", 2, name="Carl")
    tell(memory, "{Anna|lives_in|Rome}", 3, name="Dora")
    assert memory.conflicts(user_id="ada") == []
    assert held(memory) == ["Rome"]
    (lost,) = [fact for fact in memory.timeline("Anna", "lives_in", user_id="ada") if fact.object == "Oslo"]
    assert lost.status == "archived" and lost.reason


def test_an_assistant_does_not_outweigh_a_user(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|lives_in|Oslo}", 2, name=None, role="assistant")
    assert held(memory) == held(memory, as_of=day(5)) == ["Rome"]
    assert memory.conflicts(user_id="ada") == []
    assert log(memory)[-1].action == "ARCHIVE" and log(memory)[-1].reason
    kept = memory.facts(user_id="ada", archived=True)
    assert [fact.object for fact in kept if fact.status == "archived"] == ["Oslo"]


def test_a_user_puts_an_assistant_right(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Oslo}", 1, name=None, role="assistant")
    assert held(memory) == ["Oslo"]
    tell(memory, "{Ben|lives_in|Rome}", 2)
    assert held(memory) == ["Rome"]
    assert memory.conflicts(user_id="ada") == []


def test_an_old_claim_of_another_weighs_less_than_a_new_one(memory: Memory) -> None:
    tell(memory, "{Anna|lives_in|Rome}", 1, name="Ben")
    tell(memory, "{Anna|lives_in|Oslo}", 301, name="Carl")
    assert held(memory) == ["Oslo"]
    assert held(memory, as_of=day(100)) == ["Rome"]
    assert memory.conflicts(user_id="ada") == []


def test_many_values_of_several_speakers_do_not_contradict(memory: Memory) -> None:
    tell(memory, "{Anna|likes|tea}", 1, name="Ben")
    tell(memory, "{Anna|likes|jazz}", 2, name="Carl")
    assert held(memory) == ["jazz", "tea"]
    assert memory.conflicts(user_id="ada") == []


# Plain sentences, the paper's figure 1 among them


@pytest.fixture(scope="module")
def reader() -> EmbeddedTasks:
    """Reads language, not the notation."""
    return EmbeddedTasks()


def test_plain_sentences(noted: Open, reader: EmbeddedTasks) -> None:
    memory = noted(tasks=reader)
    for at, name, text in (
        (1, "Ben", "I live in Rome. I work at Acme and I like tea."),
        (20, "Anna", "Ben lives in Rome, doesn't he?"),
        (40, "Ben", "I moved from Rome to Oslo."),
        (50, "Ben", "I don't like tea any more."),
    ):
        tell(memory, text, at, name=name)
    assert held(memory, "lives_in", subject="Ben") == ["Oslo"]
    assert held(memory, "lives_in", subject="Ben", as_of=day(10)) == ["Rome"]
    assert held(memory, "works_at", subject="Ben") == ["Acme"]
    assert held(memory, "likes", subject="Ben") == []
    assert "Oslo" in memory.ask("Where does Ben live?", user_id="ada", now=day(60)).text
    assert "Rome" in memory.ask("Where did Ben live?", user_id="ada", now=day(60), as_of=day(10)).text


@pytest.mark.parametrize(
    "said, question, then, old, new",
    [
        (
            ("My favourite colour is red.", "My favourite colour changed from red to blue."),
            "What is my favourite colour?",
            "And before that?",
            "red",
            "blue",
        ),
        (
            ("我最喜欢的颜色是红色。", "我最喜欢的颜色从红色变成了蓝色。"),
            "我最喜欢的颜色是什么？",
            "之前呢？",
            "红色",
            "蓝色",
        ),
    ],
)
def test_figure_1(
    said: tuple[str, str], question: str, then: str, old: str, new: str, noted: Open, reader: EmbeddedTasks
) -> None:
    memory = noted(tasks=reader)
    for text, at in zip(said, (1, 60), strict=True):
        memory.add(text, user_id="ada", timestamp=day(at), now=day(at))
    memory.flush()
    was, now = memory.timeline("user", "favourite", user_id="ada")
    assert [(was.object, was.status), (now.object, now.status)] == [(old, "archived"), (new, "active")]
    assert (was.valid_from, was.valid_to, now.valid_from, now.valid_to) == (day(1), day(60), day(60), None)
    assert log(memory)[-1].action == "UPDATE" and old in log(memory)[-1].reason
    answer = memory.ask(question, user_id="ada", now=day(61))
    assert new in answer.text and [fact.object for fact in answer.facts] == [new]
    assert memory.get(answer.evidence[0].hit.id, user_id="ada").text == said[1]  # type: ignore[union-attr]
    before = memory.ask(then, user_id="ada", now=day(61), follows=answer)
    assert old in before.text and [fact.object for fact in before.facts] == [old]
    earlier = memory.ask(question, user_id="ada", now=day(61), as_of=day(30))
    assert old in earlier.text and [fact.object for fact in earlier.facts] == [old]


# Messages that change


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


def test_users_do_not_share_facts(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    before = memory.digest(user_id="ada")
    tell(memory, "{Ben|lives_in|Oslo}", 2, user_id="eve")
    assert (held(memory), held(memory, user_id="eve")) == (["Rome"], ["Oslo"])
    assert memory.digest(user_id="ada") == before
    assert "Oslo" not in memory.ask("Where does Ben live?", user_id="ada", now=day(5)).text
    assert {one.object for one in memory.decisions(user_id="ada")} == {"Rome"}


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


# The same input


def dialogue(seed: int, n: int) -> list[tuple[str, float, dict[str, Any]]]:
    """Random statements of a few speakers about a few subjects, with their days and scopes."""
    rng = random.Random(seed)
    said = []
    for _ in range(n):
        who, what = rng.choice(("Ben", "Anna", "user")), rng.choice(("Rome", "Oslo", "Bern"))
        thing = rng.choice(("tea", "jazz"))
        mark = rng.choice(("", "", "", "|not", "|sorry", "|once", f"|was {what}", "|sure 0.6", "|since 2024-01-20"))
        text = rng.choice(
            (
                f"{{{who}|lives_in|{rng.choice(('Rome', 'Oslo', 'Bern'))}{mark}}}",
                f"{{{who}|likes|{thing}{mark}}}",
                f"{{{who}|dislikes|{thing}}}",
                f"{{{who}|favourite/colour|{rng.choice(('red', 'blue'))}{mark}}}",
                f"{{{who}|lives_in|{what}}} {{{who}|works_at|Acme{mark}}}",
                f"{{user|named|{rng.choice(('Ben', 'Anna'))}}}",
                "Nothing at all.",
            )
        )
        speaker = rng.choice(({"name": "Ben"}, {"name": "Anna"}, {"name": None}, {"name": None, "role": "assistant"}))
        said.append((text, rng.randrange(60), {**speaker, "agent_id": rng.choice((None, None, "cook"))}))
    return said


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(2, 40))])
def test_batches_and_the_time_of_flushing_change_nothing(seed: int, noted: Open) -> None:
    said = dialogue(seed, 22)
    stores = []
    rng = random.Random(seed)
    for name, batch, often in (("end", 32, 0.0), ("each", 1, 1.0), ("some", 3, 0.2)):
        memory = noted(f"{name}.db", {"worker": {"batch_size": batch}})
        for text, at, more in said:
            say(memory, text, at, stored=100, **more)
            if rng.random() < often:
                memory.flush()
        memory.flush()
        assert memory.verify() == []
        stores.append(memory)
    for other in stores[1:]:
        assert everything(other) == everything(stores[0])
        assert other.digest() == stores[0].digest()
    print(f"seed {seed}: {len(said)} messages flushed at the end, each, and now and then: one digest")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(1, 30))])
def test_resolving_everything_again_changes_nothing(seed: int, memory: Memory) -> None:
    """Facts are a function of what counts now: not of what was said, changed and deleted on the way there."""
    rng = random.Random(seed)
    ids: list[str] = []
    for text, at, more in dialogue(seed, 25):
        ids.append(say(memory, text, at, stored=100, **more).id)
        deed, target = rng.choice(("flush", "delete", "restore", "update", "")), rng.choice(ids)
        if deed == "flush":
            memory.flush()
        elif deed == "update" and memory.get(target, user_id="ada"):
            memory.update(target, "{Ben|lives_in|Bern}", user_id="ada", now=day(101))
        elif deed in ("delete", "restore"):
            getattr(memory, deed)(target, user_id="ada", now=day(101))
    memory.flush()
    facts, digest = everything(memory), memory.digest()
    with memory.parts.database.write() as connection:
        for lane in lanes.lanes(connection, Scope("ada")):
            every = connection.execute(select(statements.c.subject, statements.c.relation, statements.c.topic))
            into = entities.canonical(connection, lane)
            groups.mark(connection, lane, {Key(into.get(row[0], row[0]), row[1], row[2]) for row in every})
    assert memory.flush() > 0
    assert (everything(memory), memory.digest()) == (facts, digest)
    assert memory.verify() == []


@pytest.mark.parametrize(
    "said",
    [
        [("{user|named|Ben}", 7, None), ("{user|named|Anna}", 23, "Anna"), ("{user|named|Ben}", 35, "Anna")],
        [("{user|named|Ben}", 7, None), ("{Anna|named|Ben}", 3, "Anna"), ("{Ben|likes|tea}", 4, "Carl")],
        [("{Ben|named|Benjamin}", 7, None), ("{user|named|Ben}", 3, "Ben"), ("{Benjamin|likes|tea}", 4, "Carl")],
        [("{user|named|Ben}", 7, "Ben"), ("{user|named|Eva|sorry}", 7.1, "Ben"), ("{Ben|likes|tea}", 9, "Ben")],
    ],
)
def test_names_stand_for_the_same_whenever_jobs_run(said: list[tuple[str, float, str | None]], noted: Open) -> None:
    seen = []
    for order in (said, said[::-1]):
        memory, at_once = noted(f"{len(seen)}.db"), noted(f"{len(seen)}-at-once.db")
        for text, at, name in order:
            tell(memory, text, at, stored=50, name=name)
            say(at_once, text, at, stored=50, name=name)
        at_once.flush()
        assert at_once.digest() == memory.digest()
        seen.append(everything(memory))
        memory.close()
        at_once.close()
    assert seen[0] == seen[1]


def test_an_export_is_the_whole_knowledge(noted: Open) -> None:
    full, empty, alone = noted("full.db"), noted("empty.db"), noted("alone.db")
    for text, at, more in dialogue(5, 15):
        tell(full, text, at, stored=100, **more)
    tell(full, "{Anna|lives_in|Rome}", 70, stored=101, name="Ben", user_id="eve")
    tell(full, "{Anna|lives_in|Oslo}", 71, stored=102, name="Carl", user_id="eve")
    undone = full.decisions(user_id="ada")[0]
    full.undo(undone.id, user_id="ada", now=day(103))
    full.sleep(now=day(104))
    full.add_skill("bread", trigger="hunger", steps=["bake"], user_id="ada", now=day(104))
    lines = list(full.export())
    empty.import_(lines)
    alone.import_(full.export(user_id="eve"))
    assert empty.digest() == full.digest()
    assert alone.digest() == full.digest(user_id="eve")
    for user in ("ada", "eve"):
        assert full.facts(user_id=user, archived=True) == empty.facts(user_id=user, archived=True)
        assert log(empty, user) == log(full, user)
        assert empty.profile(user_id=user) == full.profile(user_id=user)
        assert empty.conflicts(user_id=user) == full.conflicts(user_id=user)
        for world, system in ((10, 101), (40, 101), (10, 104), (40, 104)):
            times = {"as_of": day(world), "known_at": day(system)}
            assert plain(empty.facts(user_id=user, **times)) == plain(full.facts(user_id=user, **times))
    assert full.conflicts(user_id="eve") and any(decision.undone for decision in log(full))
    assert [found.skill for found in empty.find_skills("hunger", user_id="ada")] == [
        found.skill for found in full.find_skills("hunger", user_id="ada")
    ]
    assert empty.verify() == []
    for memory in (full, empty):  # both go on alike: what was undone stays so, and each can undo its latest
        tell(memory, "{Ben|lives_in|Bern} {user|likes|tea}", 90, stored=105)
        memory.undo(memory.decisions(user_id="ada")[0].id, user_id="ada", now=day(106))
        memory.sleep(now=day(107))
    assert empty.digest() == full.digest()
    assert bare(log(empty)) == bare(log(full))


def test_what_is_still_to_be_curated_is_exported_too(noted: Open) -> None:
    full, empty = noted("full.db"), noted("empty.db")
    tell(full, "{Ben|lives_in|Rome}", 1)
    say(full, "{Ben|lives_in|Oslo}", 2)
    moved = tell(full, "{Ben|likes|tea}", 3)
    full.delete(moved, user_id="ada", now=day(4))  # its group waits
    empty.import_(list(full.export()))
    assert empty.digest() == full.digest()
    full.flush()
    empty.flush()
    assert empty.digest() == full.digest()
    assert everything(empty) == everything(full)
    assert held(empty) == ["Oslo"]


def test_a_question_in_between_writes_nothing(memory: Memory, contents: Any, tmp_path: Any) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    before = contents(tmp_path / "store.db")
    assert "Rome" in memory.ask("Where does Ben live?", user_id="ada", now=day(2)).text
    memory.facts(user_id="ada")
    memory.timeline("Ben", "lives_in", user_id="ada")
    memory.conflicts(user_id="ada")
    memory.profile(user_id="ada")
    assert contents(tmp_path / "store.db") == before


@pytest.mark.parametrize("seed", [100, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(101, 120))])
def test_no_two_homes_at_any_time(seed: int, memory: Memory) -> None:
    """Whatever was said, a relation that holds one value at a time has one, but for what is in dispute."""
    for text, at, more in dialogue(seed, 40):
        say(memory, text, at, stored=100, **more)
    memory.flush()
    for hours in range(0, 62 * 24, 15):
        groups: dict[Any, list[Any]] = {}
        for fact in memory.facts(user_id="ada", as_of=day(hours / 24)):
            if fact.relation in ("lives_in", "works_at", "favourite"):
                groups.setdefault((fact.scope, fact.subject, fact.relation, fact.topic), []).append(fact)
        for group in groups.values():
            assert len(group) == 1 or {fact.status for fact in group} == {"disputed"}, group
