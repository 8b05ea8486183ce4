"""Zep, whose core is Graphiti (Rasmussen et al. 2025, "Zep: A Temporal Knowledge Graph Architecture for Agent Memory").

Each message is an episode (section 2.1). With the 4 messages before it in view its entities are found, its speaker one
of them, and each is held against those known that are nearest to it by cosine of the names and by BM25 of names and
summaries: it may be one of them, whose name and summary are then written anew (2.2.1). Facts between two entities get
their times from what is said and when (2.2.2, 2.2.3); each is held against facts of the same two entities, which it may
repeat, and against others that are like it, which it may contradict: these then end (`temporal_graph`). Communities of
entities are found by label propagation and extended in between (2.3; `zep_communities`). The steps are those of
`zep_prompted` or `zep_embedded`.

A question searches facts, entities and communities by cosine, BM25 and, but for communities, breadth first from what
these find (3.1), and the results are ordered by `rerank` (3.2): reciprocal rank fusion, maximal marginal relevance, how
many episodes mention them, or how near they are in the graph to the entity that is found first. A reader gets the best
20 facts with their date ranges, the best 20 entities with their summaries, and the communities (3, the constructor; 20
as in section 4).

Ours beside the paper: an episode is a passage, as all systems of a run have it; facts that are held against a new one
have an entity in common with it, and 10 are, as in Graphiti, of which the depth of 3 of the breadth-first search and
the least cosine of .2 are, too: its .6 is of Neo4j's similarity, (1 + cosine) / 2. There is no cross-encoder. What an
episode ended is known to end only in questions asked after it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import RANKED, embed_beginnings, said
from eval.systems.language import Language
from eval.systems.options import options_of
from eval.systems.plain_retrieval import PlainSearch
from eval.systems.rerankers import fused
from eval.systems.temporal_graph import Entity, Fact, TemporalGraph, contradict, over
from eval.systems.text_nodes import TextNode, as_passage, ranked_leaves, rows_by
from eval.systems.zep_communities import Communities
from eval.systems.zep_embedded import EmbeddedZep
from eval.systems.zep_prompted import PromptedZep
from eval.systems.zep_search import Rerank, Texts, ZepSearch
from eval.systems.zep_tasks import Candidates, Resolved, Stated, ZepTasks
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder
from nscma_torch.reading.extractive_summary import extract_summary
from nscma_torch.text.names import name_key


class ZepOptions(Section):
    """Options of kind zep."""

    top_k: int = Field(20, gt=0, description="Facts that are read, and entities.")
    communities: int = Field(3, ge=0, description="Communities that are read.")
    rerank: Rerank = Field("rrf", description="Fusion, marginal relevance, mentions, or distance in the graph.")
    before: int = Field(4, ge=0, description="Messages before an episode that its reading is shown.")
    near: int = Field(10, gt=0, le=50, description="Known entities, and facts, that a new one is held against.")
    least_cosine: float = Field(0.2, ge=-1, le=1, description="Cosine that a result by vectors has to exceed.")
    reflections: int = Field(1, ge=0, description="Times that a model is asked which entities it missed.")
    words: int = Field(100, gt=0, description="Longest summary of an entity or a community in words.")


class Zep:
    """The graph of one sample.

    Attributes:
        graph: entities and facts.
        communities: of the entities.
    """

    def __init__(self, language: Language, embedder: Embedder, options: ZepOptions) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self._said = self._names = self._facts = torch.empty(0, embedder.dimension)  # of passages, entities, facts
        self._search: ZepSearch | None = None
        self.graph = TemporalGraph()
        self.communities = Communities(language, options.words)

    def keep(self, passages: Sequence[Passage]) -> None:
        """Take in the episodes one by one. Raises the engine's `EngineError`."""
        self._passages = passages
        if not passages:
            return
        own = self._options
        tasks: ZepTasks = EmbeddedZep(self._language, passages)
        if self._language.engine is not None:
            tasks = PromptedZep(
                self._language, passages, before=own.before, reflections=own.reflections, words=own.words
            )
        for row in range(len(passages)):
            self._episode(tasks, row)
        self._said = self._embedded([said(passage) for passage in passages])
        found, least = self.communities.found, own.least_cosine
        self._search = ZepSearch(
            self.graph,
            Texts([fact.text for fact in self.graph.facts], self._facts, least),
            Texts([entity.text for entity in self.graph.entities], self._names, least),
            Texts([one.text for one in found], self._embedded([one.name for one in found]), least),
            own.rerank,
        )

    def _embedded(self, texts: Sequence[str]) -> Tensor:
        return embed_beginnings(self._embedder, texts)

    def _episode(self, tasks: ZepTasks, row: int) -> None:
        known = len(self.graph.entities)
        named = tasks.entities(row)
        vectors = self._embedded([one.name for one in named])
        near = [self._near_entities(one.name, vector) for one, vector in zip(named, vectors, strict=True)]
        held = [(one, [self.graph.entities[own] for own in rows]) for one, rows in zip(named, near, strict=True)]
        resolved = tasks.resolve(row, held)
        places = [self._entity(row, one, rows) for one, rows in zip(resolved, near, strict=True)]
        self._names = torch.cat([self._names[:known], self._embedded([e.name for e in self.graph.entities[known:]])])
        stated = tasks.facts(row, [self.graph.entities[own].name for own in places])
        if stated:
            ends = [(places[one.subject], places[one.object]) for one in stated]
            self._state(tasks, row, [(one, own) for one, own in zip(stated, ends, strict=True) if own[0] != own[1]])
        self.communities.update(self.graph, range(known, len(self.graph.entities)))

    def _near_entities(self, name: str, vector: Tensor) -> list[int]:
        """Known entities that may be the one with this name; without an engine the one with its key."""
        known = self.graph.entities
        if self._language.engine is None:
            return [row for row, own in enumerate(known) if name_key(own.name) == name_key(name)][:1]
        return self._hybrid(name, vector, [own.text for own in known], self._names)

    def _hybrid(self, text: str, vector: Tensor, texts: Sequence[str], vectors: Tensor) -> list[int]:
        """Rows of the texts that are most like one, by cosine and BM25."""
        if not texts:
            return []
        own, search = self._options, PlainSearch(texts, vectors)
        return fused([search.dense(vector, own.least_cosine), search.bm25(text)])[: own.near]

    def _entity(self, row: int, resolved: Resolved, near: Sequence[int]) -> int:
        """The row of an entity that an episode mentions; it is there afterwards, as it is to be."""
        place = len(self.graph.entities) if resolved.known is None else near[resolved.known]
        if place == len(self.graph.entities):
            self.graph.entities.append(Entity(resolved.name))
        own = self.graph.entities[place]
        if own.name != resolved.name:
            own.name = resolved.name
            self._names[place] = self._embedded([own.name])[0]
        own.summary = resolved.summary
        if row not in own.rows:
            own.rows.append(row)
        return place

    def _state(self, tasks: ZepTasks, row: int, stated: Sequence[tuple[Stated, tuple[int, int]]]) -> None:
        """Judge facts of an episode, each with its two entities, by those known before it, and take them in."""
        facts, now = self.graph.facts, self._passages[row].message.timestamp
        vectors = self._embedded([one.text for one, _ in stated])
        near = [self._near_facts(one, own, vector) for (one, own), vector in zip(stated, vectors, strict=True)]
        held = [
            Candidates(own[0], [facts[row] for row in same], [facts[row] for row in others])
            for (_, own), (same, others) in zip(stated, near, strict=True)
        ]
        judged = tasks.judge(row, [(one, known) for (one, _), known in zip(stated, held, strict=True)])
        for (one, own), known, verdict, vector in zip(stated, held, judged, vectors, strict=True):
            fact = Fact(own, one.predicate, one.text, one.valid, one.invalid, now, [row])
            same = [known.own[place] for place in verdict.same]
            same += [other for other in facts if other.rows == [row] and (other.ends, other.text) == (own, one.text)]
            repeated = next((other for other in same if not over(other, one.valid)), None)
            if repeated is not None:
                fact = repeated
                fact.rows += [row] if row not in fact.rows else []
            elif not one.denied:
                facts.append(fact)
                self._facts = torch.cat([self._facts, vector[None]])
            for place in verdict.contradicted:
                contradict([*known.own, *known.others][place], fact, now)
            if self._language.engine is None and not one.denied:
                self._extend_summaries(own, one.text)

    def _near_facts(self, stated: Stated, ends: tuple[int, int], vector: Tensor) -> tuple[list[int], list[int]]:
        """Known facts of the same two entities, and others with one of them, that are most like a new one."""
        between = self.graph.between(ends)
        other = [row for row in self.graph.touching(ends) if row not in between]
        found = []
        for rows in (between, other):
            texts = [self.graph.facts[row].text for row in rows]
            found.append([rows[place] for place in self._hybrid(stated.text, vector, texts, self._facts[rows])])
        return found[0], found[1]

    def _extend_summaries(self, ends: Sequence[int], text: str) -> None:
        for own in (self.graph.entities[end] for end in ends):
            own.summary = extract_summary([own.summary.replace("\n", "\n\n"), text], self._options.words)

    def find(self, question: str, now: datetime) -> Found:
        """Facts, entities and communities, as they were known by now."""
        if self._search is None:
            return Found((), ())
        rows = rows_by(self._passages, now)
        query = self._embedder.embed_query(question).cpu()
        facts, entities, own = self.graph.facts, self.graph.entities, self._options
        known = {place for place, fact in enumerate(facts) if fact.rows[0] in rows}
        written = {place for place, entity in enumerate(entities) if rows.issuperset(entity.rows)}
        held = [{row for member in one.members for row in entities[member].rows} for one in self.communities.found]
        whole = {place for place, leaves in enumerate(held) if rows.issuperset(leaves)}
        best, near = self._search.facts_and_entities(question, query, known, written, own.top_k)
        together = self._search.communities(question, query, whole, own.communities)
        nodes = [
            *(_node(facts[place].shown(now), rows.intersection(facts[place].rows)) for place in best),
            *(_node(entities[place].text, entities[place].rows) for place in near),
            *(_node(self.communities.found[place].text, held[place]) for place in together),
        ]
        leaves = ranked_leaves(nodes, self._said @ query)[:RANKED]
        return Found([as_passage(node, self._passages) for node in nodes], [self._passages[row] for row in leaves])

    def store_bytes(self) -> int:
        """Of episodes, facts, entities and communities, with vectors and four times of a fact."""
        written = [entity.text for entity in self.graph.entities] + [fact.text for fact in self.graph.facts]
        written += [one.text for one in self.communities.found]
        texts = text_bytes(self._passages) + sum(len(text.encode()) for text in written)
        return texts + self._names.nbytes + self._facts.nbytes + 4 * 8 * len(self.graph.facts)


def _node(text: str, rows: Collection[int]) -> TextNode:
    return TextNode(text, tuple(sorted(rows)), written=True)


def make_zep(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind zep."""
    options = options_of(ZepOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(Zep(Language(shared, engine), shared.embedder, options)),
    )
