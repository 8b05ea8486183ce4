"""Zep's search over facts, entities and communities, and the order of what it finds.

Rasmussen et al. 2025, section 3.1: cosine, BM25, and breadth first from what these two find, which follows the facts;
section 3.2: the rerankers. Twice as many results of each search are ordered as are wanted, those by vectors have a
least cosine, and breadth-first search goes along 3 facts, as in Graphiti. What more episodes mention comes first; of
distances, what cannot be reached comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal

from torch import Tensor

from eval.systems.plain_retrieval import PlainSearch
from eval.systems.rerankers import fused, marginal
from eval.systems.temporal_graph import TemporalGraph

Rerank = Literal["rrf", "mmr", "episode_mentions", "node_distance"]
DEPTH = 3  # facts that breadth-first search goes along


class Texts:
    """Texts of one kind with their vectors [n, d].

    Args:
        least: cosine that a result by vectors has to exceed.
    """

    def __init__(self, texts: Sequence[str], vectors: Tensor, least: float) -> None:
        self.vectors = vectors
        self._least = least
        self._search = PlainSearch(texts, vectors) if texts else None

    def rankings(self, question: str, query: Tensor, known: Collection[int], most: int) -> list[list[int]]:
        """By cosine and by BM25, the best `most` of what is known."""
        if self._search is None:
            return []
        orders = self._search.dense(query, self._least), self._search.bm25(question)
        return [[row for row in order if row in known][:most] for order in orders]


class ZepSearch:
    """Search over a graph that is complete.

    Args:
        facts: by their texts.
        entities: vectors of their names, texts with their summaries.
        communities: vectors of their names, texts with their summaries.
    """

    def __init__(self, graph: TemporalGraph, facts: Texts, entities: Texts, communities: Texts, rerank: Rerank) -> None:
        self._graph = graph
        self._facts = facts
        self._entities = entities
        self._communities = communities
        self._rerank = rerank

    def facts_and_entities(
        self,
        question: str,
        query: Tensor,  # [d]
        facts: Collection[int],  # those that are known
        entities: Collection[int],  # the same
        most: int,
    ) -> tuple[list[int], list[int]]:
        """The best facts and the best entities for a question, `most` of each."""
        graph = self._graph
        named = self._entities.rankings(question, query, entities, 2 * most)
        reached = graph.distances([own for ranking in named for own in ranking], facts, DEPTH)
        around = sorted((own for own, far in reached.items() if far and own in entities), key=lambda own: reached[own])
        entity_order = fused([*named, around[: 2 * most]])
        said = self._facts.rankings(question, query, facts, 2 * most)
        reached = graph.distances([graph.facts[row].ends[0] for ranking in said for row in ranking], facts, DEPTH - 1)
        near = {row: min(reached.get(end, DEPTH) for end in graph.facts[row].ends) for row in sorted(facts)}
        walked = sorted((row for row, far in near.items() if far < DEPTH), key=lambda row: near[row])
        fact_order = fused([*said, walked[: 2 * most]])
        center = graph.distances(entity_order[:1], facts, len(graph.entities))
        return (
            self._ordered(
                fact_order,
                self._facts.vectors,
                query,
                most,
                lambda row: len(graph.facts[row].rows),
                lambda row: min(center.get(end, len(graph.entities)) for end in graph.facts[row].ends),
            ),
            self._ordered(
                entity_order,
                self._entities.vectors,
                query,
                most,
                lambda own: len(graph.entities[own].rows),
                lambda own: center.get(own, len(graph.entities)),
            ),
        )

    def communities(self, question: str, query: Tensor, known: Collection[int], most: int) -> list[int]:
        """The best communities for a question."""
        order = fused(self._communities.rankings(question, query, known, 2 * most))
        return marginal(order, self._communities.vectors, query, most) if self._rerank == "mmr" else order[:most]

    def _ordered(
        self,
        order: Sequence[int],
        vectors: Tensor,
        query: Tensor,
        most: int,
        mentions: Callable[[int], int],
        distance: Callable[[int], int],
    ) -> list[int]:
        """The best of an order by the reranker; what it does not tell apart stays in that order."""
        match self._rerank:
            case "rrf":
                return list(order[:most])
            case "mmr":
                return marginal(order, vectors, query, most)
            case "episode_mentions":
                return sorted(order, key=lambda own: -mentions(own))[:most]
            case "node_distance":
                return sorted(order, key=distance)[:most]
