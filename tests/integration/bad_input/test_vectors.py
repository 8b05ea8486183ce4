"""Vectors that are no numbers, and vectors of another embedder."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import EmbedderMismatchError, VectorError
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

Open = Callable[..., Memory]
Contents = Callable[[Path], dict[str, list[Any]]]


class Broken(HashEmbedder):
    """Returns one vector that is not finite."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def embed(self, texts: Any) -> torch.Tensor:
        vectors = super().embed(texts)
        if len(vectors):
            vectors[-1, 3] = self.value
        return vectors


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_vectors_that_are_not_finite(value: float, filled: Memory, untouched: Any, open_memory: Open) -> None:
    broken = open_memory(embedder=Broken(value))
    with untouched(VectorError, "nothing was stored"):
        broken.add(["Fine.", "Not so fine."], user_id="ada")
    with untouched(VectorError):
        broken.update(filled.log(user_id="ada")[0].id, "Not so fine.", user_id="ada")
    with untouched(VectorError):
        broken.reembed()
    fresh = open_memory("fresh.db", embedder=Broken(value))
    with pytest.raises(VectorError):
        fresh.add("Not so fine.", user_id="ada")
    assert fresh.stats().messages == 0
    assert fresh.stats().embedder is None, "a store without vectors is bound to no embedder"


class Other(HashEmbedder):
    """An embedder with another fingerprint and another dimension."""

    @property
    def fingerprint(self) -> str:
        return "other v1"

    @property
    def dimension(self) -> int:
        return 64

    def embed(self, texts: Any) -> torch.Tensor:
        return torch.nn.functional.normalize(super().embed(texts)[:, :64], dim=-1)


def test_another_embedder_is_refused_until_reembed(filled: Memory, untouched: Any, open_memory: Open) -> None:
    other = open_memory(embedder=Other())
    for act in (
        lambda: other.add("I moved again.", user_id="ada"),
        lambda: other.search("moved", user_id="ada"),
        lambda: other.ask("who moved?", user_id="ada"),
    ):
        with untouched(EmbedderMismatchError, r"hash-256 v1.*other v1.*nscma reembed"):
            act()
    digest = filled.digest()
    seen: list[tuple[int, int]] = []
    assert other.reembed(progress=lambda done, total: seen.append((done, total))) == 2
    assert seen[-1] == (2, 2)
    assert other.digest() == digest, "what is remembered did not change"
    assert other.stats().embedder == "other v1"
    assert other.search("Porto", user_id="ada")[0].text == "I moved to Porto in March."
    other.add("And then to Kyoto.", user_id="ada")
    other.flush()
    # whoever still has the old embedder in hand is refused too, and mixes nothing in
    for act in (
        lambda: filled.add("I moved again.", user_id="ada"),
        lambda: filled.search("moved", user_id="ada"),
        lambda: filled.update(filled.log(user_id="ada")[0].id, "I moved to Faro.", user_id="ada"),
    ):
        with pytest.raises(EmbedderMismatchError, match=r"other v1.*hash-256 v1"):
            act()
    assert other.verify() == []
    assert other.search("Kyoto", user_id="ada")[0].text == "And then to Kyoto."


def test_looking_into_an_empty_store_binds_it_to_no_embedder(open_memory: Open) -> None:
    assert open_memory().search("anything", user_id="ada") == []
    other = open_memory(embedder=Other())
    other.add("I moved.", user_id="ada")
    assert other.stats().embedder == "other v1"


def test_an_export_with_vectors_of_another_embedder(filled: Memory, untouched: Any, open_memory: Open) -> None:
    other = open_memory("other.db", embedder=Other())
    other.add("I moved.", user_id="bob")
    with untouched(EmbedderMismatchError, "nscma reembed"):
        filled.import_(list(other.export()))
