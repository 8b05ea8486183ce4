"""Facts through `Memory`: what comes late, what is put right, and what is taken back."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import permutations

import pytest

from nscma_torch.memory import Memory
from tests.helpers.noting import day, everything, held, log, spans, tell

Open = Callable[..., Memory]


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


def test_a_thing_that_is_gone_may_be_told_in_fewer_words(memory: Memory) -> None:
    tell(memory, "{Ben|owns|red Fiat Panda} {Ben|owns|bike}", 1)
    tell(memory, "{Ben|owns|Fiat|not}", 5)
    assert spans(memory, "Ben", "owns") == [
        ("red Fiat Panda", day(1), day(5), "archived"),
        ("bike", day(1), None, "active"),
    ]
    tell(memory, "{Ben|owns|black bike}", 6)
    tell(memory, "{Ben|owns|bike|not}", 7)
    assert held(memory) == ["black bike"], "the words that were used"
    tell(memory, "{Ben|owns|Fiat 500}", 8)
    assert held(memory) == ["Fiat 500", "black bike"], "what was sold before stays sold"
    tell(memory, "{Ben|owns|Fiat|not}", 9)
    assert held(memory) == ["black bike"]
    tell(memory, "{Ben|owns|bike shed}", 10)
    tell(memory, "{Ben|owns|shed key}", 11)
    tell(memory, "{Ben|owns|shed|not}", 12)
    assert held(memory) == ["black bike", "shed key"]


@pytest.mark.parametrize("relation", ["owns", "likes"])
def test_it_ends_nothing_where_several_are_meant_or_kinds(relation: str, memory: Memory) -> None:
    tell(memory, f"{{Ben|{relation}|green tea}} {{Ben|{relation}|black tea}}", 1)
    tell(memory, f"{{Ben|{relation}|tea|not}}", 5)
    assert held(memory) == ["black tea", "green tea"]
    tell(memory, f"{{Ben|{relation}|cold milk}}", 6)
    tell(memory, f"{{Ben|{relation}|milk|not}}", 7)
    assert ("cold milk" in held(memory)) == (relation == "likes")
