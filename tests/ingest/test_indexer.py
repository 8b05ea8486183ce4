"""Chunks with vectors and terms, and how far embedding has come."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from nscma_torch.core.errors import VectorError
from nscma_torch.ingest.indexer import Indexer
from nscma_torch.ingest.stages import Stages
from nscma_torch.text.chunker import Chunker
from nscma_torch.text.embedders.hash_embedder import HashEmbedder


class Counting(HashEmbedder):
    """Notes how many texts it is handed at once, and may name another dimension."""

    def __init__(self, dimension: int = 256) -> None:
        super().__init__()
        self.named, self.runs = dimension, list[int]()

    @property
    def dimension(self) -> int:
        return self.named

    def embed(self, texts: Sequence[str]) -> Tensor:
        self.runs.append(len(texts))
        return super().embed(texts)


def indexer(embedder: HashEmbedder, stages: Stages) -> Indexer:
    return Indexer(embedder, Chunker(embedder.count_tokens, embedder.max_tokens), stages)


@pytest.mark.parametrize(
    ("count", "runs", "heard"),
    [
        (0, [0], [1.0]),
        (1, [1], [1.0]),
        (128, [128], [1.0]),
        (129, [128, 1], [128 / 129, 1.0]),
        (300, [128, 128, 44], [128 / 300, 256 / 300, 1.0]),
    ],
)
def test_embedding_is_heard_of_after_every_run(count: int, runs: list[int], heard: list[float]) -> None:
    embedder, stages, told = Counting(), Stages(), list[float]()
    found = indexer(embedder, stages).index([f"text {i}" for i in range(count)], [True] * count, told.append)
    assert (embedder.runs, told) == (runs, heard)
    assert len(found) == count and set(stages.seconds) == {"chunking", "embedding", "lexical"}


def test_only_marked_texts_have_vectors_each_its_own() -> None:
    embedder = Counting()
    texts = ["A zebra runs.", "No vector.", "A giraffe. " * 200, "A lamp."]
    found = indexer(embedder, Stages()).index(texts, [True, False, True, True])
    assert [len(own) > 1 for own in found] == [False, False, True, False]
    for text, own in zip(texts, found, strict=True):
        for item in own:
            assert text[item.chunk.start : item.chunk.end] == item.chunk.text
            if text == "No vector.":
                assert item.vector is None and item.packed is None and item.terms
            else:
                assert item.vector is not None and item.packed is not None
                assert torch.equal(item.vector, embedder.embed([item.chunk.text])[0])


def test_vectors_of_another_dimension_are_refused() -> None:
    with pytest.raises(VectorError, match=r"declares dimension 7 but returned vectors \[1, 256\] for 1 texts"):
        indexer(Counting(7), Stages()).index(["text"], [True])
    assert indexer(Counting(7), Stages()).index([], []) == []


def test_stages_add_up() -> None:
    stages = Stages()
    stages.seconds["chunking"] = 5.0
    with stages.stage("chunking"):
        pass
    assert 5.0 < stages.seconds["chunking"] < 6.0
