"""Chunking compared: what a reader gets of the evidence, and chunks of equal number."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import torch

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.retrieval.chunking import Row, ask, chunkers, covered, sizes, table, within
from eval.tasks.corpus import Span
from eval.tasks.retrieval_sets import Asked, DataSet, World
from nscma_torch import Message
from nscma_torch.text.hash_embedder import HashEmbedder


def test_coverage_counts_each_character_once() -> None:
    evidence = [Span(0, 0, 10), Span(1, 5, 15)]
    assert covered([Span(0, 5, 20), Span(0, 8, 12), Span(2, 0, 9)], evidence) == 0.25
    assert covered(evidence, evidence) == 1.0 and covered([], evidence) == 0.0


def test_hits_are_read_until_the_budget_is_spent() -> None:
    assert [within([5, 5, 5], budget) for budget in (0, 4, 5, 14, 15, 99)] == [0, 0, 1, 2, 3, 3]


def test_every_way_of_cutting_is_asked(embedder: HashEmbedder) -> None:
    calm = "the tide was low and the men were idle. " * 60
    text = calm + "ANA MOVED TO OSLO WITH HER CELLO. " + calm
    start = text.index("ANA")
    asked = [Asked("Where did Ana move?", (Span(0, start, start + 20),), half) for half in ("even", "odd")]
    world = World("u", [Message("document", text)], asked, datetime(2024, 5, 1, tzinfo=UTC))
    data_set, cached = DataSet("small", [world], False, 10, []), CachedEmbedder(embedder)

    def shrill(text: str) -> torch.Tensor:
        return torch.tensor([1.0 + 2.0 * c.isupper() for c in text])

    rows = []
    for name, chunker in chunkers(data_set, [1.0], cached, shrill):
        tokens = sizes(data_set, chunker)
        rows.append(Row(name, len(tokens), sum(tokens) / len(tokens), ask(data_set, chunker, cached)))
    by_name = {row.name.split(",")[0]: row for row in rows[:3]}
    assert list(by_name) == ["sentence", "fixed", "surprise"]
    assert rows[3].chunks == pytest.approx(by_name["surprise"].chunks, abs=1)
    assert by_name["surprise"].found[0].covered[-1] == 1.0
    assert table("small", rows, messages=True).row_count == 4
