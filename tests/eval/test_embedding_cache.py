"""The cache gives what the embedder gives, and asks it once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from eval.embedding_cache import CachedEmbedder
from nscma_torch.protocols import Embedder
from nscma_torch.text.hash_embedder import HashEmbedder


class Asked(HashEmbedder):
    """Notes what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        self.texts += texts
        return super().embed(texts)


def test_vectors_are_the_embedders_and_each_text_is_embedded_once() -> None:
    plain = Asked()
    cached = CachedEmbedder(plain)
    assert isinstance(cached, Embedder)
    texts = ["the cat sat", "a dog ran", "the cat sat"]
    assert torch.equal(cached.embed(texts), HashEmbedder().embed(texts))
    assert torch.equal(cached.embed(["a dog ran", "new words"]), HashEmbedder().embed(["a dog ran", "new words"]))
    assert plain.texts == ["the cat sat", "a dog ran", "new words"]
    assert torch.equal(cached.embed_query("a dog"), HashEmbedder().embed_query("a dog"))
    assert cached.embed([]).shape == (0, cached.dimension)


def test_a_query_and_a_text_of_the_same_words_are_kept_apart() -> None:
    class Prompted(Asked):
        def embed_query(self, text: str) -> torch.Tensor:
            return -HashEmbedder.embed(self, [text])[0]

    cached = CachedEmbedder(Prompted())
    assert torch.equal(cached.embed(["a dog"])[0], -cached.embed_query("a dog"))


def test_without_learning_only_known_texts_are_spared() -> None:
    plain = Asked()
    cached = CachedEmbedder(plain)
    cached.embed(["known"])
    cached.learning = False
    for _ in range(2):
        assert torch.equal(cached.embed(["known", "unknown"]), HashEmbedder().embed(["known", "unknown"]))
    assert plain.texts == ["known", "unknown", "unknown"]


def test_saved_vectors_are_found_by_the_next_program(tmp_path: Path) -> None:
    first = CachedEmbedder(HashEmbedder(), tmp_path / "cache")
    vectors = first.embed(["one text", "another"])
    first.save()
    plain = Asked()
    second = CachedEmbedder(plain, tmp_path / "cache")
    assert torch.equal(second.embed(["another", "one text"]), vectors.flip(0))
    assert plain.texts == []
