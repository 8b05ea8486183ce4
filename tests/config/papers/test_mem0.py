"""mem0's update phase in plain Python, against the library under `papers/mem0`."""

from __future__ import annotations

import math
import random

import torch

from nscma_torch.curator.claims import Rules
from nscma_torch.curator.similar_facts import SimilarFacts
from tests.config.papers.presets import preset


class Vectors:
    """An embedder with vectors that are written down."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.vectors = vectors

    def embed(self, texts: list[str]) -> torch.Tensor:
        return torch.nn.functional.normalize(torch.tensor([self.vectors[text] for text in texts]), dim=1)


def test_the_s_most_similar_facts() -> None:
    """Step 2: of all facts, the s with the largest cosine to the new one."""
    section = preset("mem0").curator
    chance = random.Random(0)
    vectors = {name: [chance.gauss(0, 1) for _ in range(5)] for name in ["new", *map(str, range(40))]}

    def cosine(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))

    known = [str(n) for n in range(40)]
    best = sorted(range(40), key=lambda n: -cosine(vectors["new"], vectors[str(n)]))[: section.similar]
    embedder = Vectors(vectors)
    assert SimilarFacts(lambda: embedder, section.similar).nearest("new", known) == best  # type: ignore[arg-type, return-value]


def test_the_model_alone_decides() -> None:
    """Step 3: nothing but ADD, UPDATE, DELETE or NOOP changes a fact; what they do is in tests/curator/test_adviser."""
    rules = Rules.of(preset("mem0").curator)
    assert rules.by_model and rules.asks_model and not rules.by_score and not rules.one_object
