"""Changing the embedder is one transaction: all vectors, or none. Mixing is in test_bad_input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import TextTooLongError
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

Open = Callable[..., Memory]


class Short(HashEmbedder):
    """Reads three tokens."""

    fingerprint = "short"  # type: ignore[assignment]
    max_tokens = 3  # type: ignore[assignment]


class Stops(HashEmbedder):
    """Fails in the middle, as an interrupted process does."""

    fingerprint = "stops"  # type: ignore[assignment]
    batches = 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.batches += 1
        if self.batches > 1:
            raise KeyboardInterrupt
        return super().embed(texts)


def test_a_chunk_that_does_not_fit_leaves_the_old_vectors(open_memory: Open) -> None:
    memory = open_memory()
    memory.add("This sentence has more than three tokens.", user_id="ada")
    before = list(memory.export())
    with pytest.raises(TextTooLongError, match="short accepts 3"):
        open_memory(embedder=Short()).reembed()
    assert list(memory.export()) == before
    assert memory.search("sentence", user_id="ada")


def test_an_interruption_leaves_the_old_vectors(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory(surprise_model=light_surprise)
    memory.add([f"line {i}" for i in range(300)], user_id="ada")
    before = list(memory.export())
    with pytest.raises(KeyboardInterrupt):
        open_memory(embedder=Stops()).reembed()
    assert list(memory.export()) == before


def test_an_empty_store_may_change_its_mind(open_memory: Open) -> None:
    assert open_memory(embedder=Short()).reembed() == 0
    assert open_memory().stats().embedder == "short"


def test_what_just_fits_is_embedded_and_every_batch_is_heard_of(open_memory: Open, light_surprise: Any) -> None:
    class Exact(HashEmbedder):
        fingerprint = "exact"  # type: ignore[assignment]
        max_tokens = 2  # type: ignore[assignment]

        def embed(self, texts: Sequence[str]) -> Any:
            return -super().embed(texts)

    memory = open_memory(surprise_model=light_surprise)
    memory.add([f"line {i}" for i in range(257)], user_id="ada")
    other, heard = open_memory(embedder=Exact()), list[tuple[int, int]]()
    assert max(other.components.new_embedder.count_tokens(["line 1", "line 256"])) == 2
    assert other.reembed(progress=lambda *told: heard.append(told)) == 257
    assert heard == [(256, 257), (257, 257)]
    (hit, *_) = other.search("line 256", user_id="ada", explain=True, top_k=1)
    assert hit.text == "line 256" and hit.parts["vector_score"] > 0.9
    assert other.verify() == []
