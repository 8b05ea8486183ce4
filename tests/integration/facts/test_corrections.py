"""Facts through `Memory`: what comes late, what is put right, and what is taken back."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from nscma_torch.api.memory import Memory
from tests.helpers.noting import day, held, spans, tell


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
