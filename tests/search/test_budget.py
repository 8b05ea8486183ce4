"""Trimming hits to a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Hit, Scope, Unit
from nscma_torch.search.budget import within

TEXTS = ("One two.", "Three four five. Six seven.", "Eight.")


def hit(text: str, kind: str = "chunk", start: int = 0) -> Hit:
    at = datetime(2024, 9, 1, tzinfo=UTC)
    return Hit(Unit("u", Scope("ada"), kind, text, ("e",), at, start=start, end=start + len(text)), 0.5)  # type: ignore[arg-type]


def words(texts: Sequence[str]) -> list[int]:
    assert texts, "a tokenizer is not asked of nothing"
    return [len(text.split()) for text in texts]


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (8, TEXTS),
        (7, TEXTS[:2]),
        (6, ("One two.", "Three four five.")),
        (5, ("One two.", "Three four five.")),
        (4, ("One two.",)),
        (2, ("One two.",)),
        (1, ()),
        (0, ()),
    ],
)
def test_hits_fill_the_budget_and_the_last_loses_its_last_sentences(budget: int, kept: tuple[str, ...]) -> None:
    assert tuple(one.text for one in within([hit(text) for text in TEXTS], budget, words)) == kept
    assert within([], budget, words) == []


def test_what_does_not_fit_ends_it_though_something_smaller_would() -> None:
    assert within([hit("One two three."), hit("Four.")], 2, words) == []
    assert within([hit(""), hit("Four.")], 1, words) == [hit(""), hit("Four.")]


def test_a_chunk_that_was_cut_says_where_it_ends() -> None:
    whole = hit("One two. Three.", start=100)
    (chunk,) = within([whole], 2, words)
    assert (chunk.text, chunk.unit.start, chunk.unit.end, chunk.score) == ("One two.", 100, 108, 0.5)
    (summary,) = within([hit("One two. Three.", "summary", 100)], 2, words)
    assert (summary.text, summary.unit.end) == ("One two.", 115)
    assert within([whole], 3, words) == [whole]
