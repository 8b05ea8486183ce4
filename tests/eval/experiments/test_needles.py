"""Needles: how statements are strewn and counted, and what may be deferred."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from eval.experiments.gate.needles import (
    COUNTED,
    SHOWN,
    Haystack,
    Ranking,
    at_own_threshold,
    deferrable,
    haystacks,
    heard,
    strewn,
    table,
)
from nscma_torch.buffer.proxy import RecurrentProxy

HAY = [f"The carriage rolled on through street number {i} of the town." for i in range(12)]
TOLD = ["Mary went to the kitchen.", "John took the milk.", "Mary went to the kitchen.", "John left the milk."]


def test_statements_are_strewn_in_their_order_and_repetitions_are_known() -> None:
    stack = strewn(HAY, TOLD, "odd", random.Random(0))
    assert [text for text, own in zip(stack.texts, stack.statement, strict=True) if own] == TOLD
    assert [text for text, own in zip(stack.texts, stack.statement, strict=True) if not own] == HAY
    assert [first for first, own in zip(stack.first, stack.statement, strict=True) if own] == [True, True, False, True]
    assert strewn(HAY, TOLD, "odd", random.Random(0)) == stack != strewn(HAY, TOLD, "odd", random.Random(1))


def test_the_threshold_is_the_highest_that_keeps_enough() -> None:
    scores = [5.0, 4.0, 3.0, 2.0, 1.0, 4.5, 3.0, 0.5]
    needed = [True] * 5 + [False] * 3
    hay = [not need for need in needed]
    assert deferrable(scores, needed, hay, 1.0) == pytest.approx(1 / 3)
    assert deferrable(scores, needed, hay, 0.6) == pytest.approx(1 / 3), "of equal scores none is deferred"
    assert deferrable(scores, needed, hay, 0.4) == pytest.approx(2 / 3)


def test_areas_count_other_statements_neither_way() -> None:
    stack = Haystack("even", ["a", "b", "c", "b"], [False, True, False, True], [False, True, False, False])
    ranking = Ranking(stack, [0.0, 1.0, 0.5, -1.0])
    assert ranking.auc("first") == 1.0 and ranking.auc("all") == 0.5


def test_novels_and_stories_become_tables(tmp_path: Path, proxy: RecurrentProxy) -> None:
    (tmp_path / "novels").mkdir()
    (tmp_path / "babi").mkdir()
    for name in ("A", "B"):
        (tmp_path / "novels" / f"{name}.txt").write_text("\n\n".join(HAY), encoding="utf-8")
    lines = ["1 Mary went to the kitchen.", "2 John took the milk.", "3 Where is Mary? \tkitchen\t1", "4 John left."]
    for task in (1, 2, 3, 5, 6, 7, 8):
        (tmp_path / "babi" / f"qa{task}_x_test.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    stacks = haystacks(tmp_path, 10, 4)
    assert [stack.half for stack in stacks] == ["even", "odd"]
    assert [(len(stack.texts), sum(stack.statement), sum(stack.first)) for stack in stacks] == [(16, 6, 3)] * 2
    known = [heard(stack, proxy) for stack in stacks]
    for which in COUNTED:
        rankings = {"composition": [Ranking(s, [made.score for made in k.decisions["composition"]])
                                    for s, k in zip(stacks, known, strict=True)]}  # fmt: skip
        assert table(rankings, which).row_count == 1
    assert at_own_threshold(stacks, known).row_count == 2
    assert len(SHOWN) == len(set(SHOWN))
