"""mem0's update phase in plain Python, against the library under `papers/mem0` and `papers/mem0_graph`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import FactOperation, Statement, ToldFact
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.timeline.adviser import Adviser
from nscma_torch.semantic.timeline.claims import Rules
from nscma_torch.semantic.timeline.curation import Curator
from nscma_torch.semantic.timeline.similar_facts import SimilarFacts
from tests.helpers.telling import day
from tests.helpers.told import Told
from tests.papers.presets import preset


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


class Resolver:
    """Notes what it is shown, and resolves nothing."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, list[str]]] = []

    def operate(self, new: Sequence[tuple[ToldFact, Sequence[ToldFact]]]) -> list[FactOperation]:
        self.shown += [(one.text, [fact.text for fact in known]) for one, known in new]
        return [FactOperation("ADD", ()) for _ in new]


def test_conflicts_are_looked_for_at_the_two_nodes_of_an_edge(
    open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    """mem0^g: of the edges (v, l, w) of G those that share a node with the new one, the s most similar of them."""
    section = preset("mem0_graph").curator.model_copy(update={"similar": 4})
    memory = open_memory(
        "graph.db", {"curator": section.model_dump(exclude_defaults=True)}, surprise_model=light_surprise
    )
    parts, resolver, schema = memory.components, Resolver(), load_relations()
    adviser = Adviser(lambda: resolver, lambda: "resolver", lambda: parts.embedder, schema, section)
    told = Told(memory, Curator(parts.database, schema, section, clock=lambda: day(1000), adviser=adviser))
    chance = random.Random(1)
    wordings = {"likes": "{} likes {}", "pet": "{} has a pet: {}"}
    names = ("Ann", "Ben", "Cy", "Dan", "Eve", "Flo", "Gus")
    edges: list[tuple[str, str, str]] = []
    limited = left_out = 0
    while len(edges) < 30:
        label, v, w = chance.choice(sorted(wordings)), *chance.sample(names, 2)
        if (v, label, w) in edges or (w, label, v) in edges:
            continue
        told.tell(Statement(v, label, w), at=len(edges) + 1)
        near = [edge for edge in edges if {edge[0], edge[2]} & {v, w}]
        texts = [wordings[own].format(a, b) for a, own, b in near]
        text = wordings[label].format(v, w)
        if not near:
            assert all(asked != text for asked, _ in resolver.shown)
        else:
            asked, known = resolver.shown[-1]
            vectors = parts.embedder.embed([text, *texts])
            cosines = dict(zip(texts, (vectors[1:] @ vectors[0]).tolist(), strict=True))
            assert asked == text and set(known) <= set(texts) and len(known) == min(section.similar, len(texts))
            worst = min(cosines[one] for one in known)
            assert all(cosines[one] <= worst + 1e-6 for one in set(texts) - set(known))
            limited += len(texts) > section.similar
            left_out += len(near) < len(edges)
        edges.append((v, label, w))
    assert limited and left_out
