"""GraphRAG (Edge et al. 2024, "From Local to Global: A Graph RAG Approach to Query-Focused Summarization"), by the
sections of its second version.

Passages are read for entities and relationships, whose descriptions are summarised (`graph_elements`; sections 3.1.2
and 3.1.3); Leiden divides their graph into communities, level by level (`leiden_levels`; 3.1.4), and each gets a report
(`community_reports`; 3.1.5). `search` says how a question is answered:

- global (3.1.6): the reports of a level, in random order, are put to a model in packs; of each it writes points for the
  answer, each with a score from 0 to 100 of how much it helps. Those of score 0 go, the others are read, the most
  helpful first, until their tokens reach a limit.
- local, which is of the authors' code (LocalSearchMixedContext, microsoft/graphrag) and not in the paper: the 10
  entities nearest to the question, and of the tokens half for the passages that they were found in (of the nearest
  entity first, those with most of its relationships first), 15 % for the reports of their communities (of most of these
  entities, then of the highest rating), and the rest for the entities and their relationships (those among them, then
  those with what most of them are joined with). Ours beside that code: it asks its vectors for twice its setting of 10
  and shows all 20; it takes the reports of all levels down to the one that is searched, in the global search, too; and
  an entity outside the largest connected part of the graph is in no community there, and is not found.

Ours beside the paper: passages are those of all systems of a run; an entity without a relationship is in no community;
edges weigh how often a relationship was found; claims (covariates) are not extracted. The run's reader is the reduce
step: it answers from the points, or from the local context, where passages come first since a reader leaves out what
does not fit. Without an engine each report is a point, its score 100 times its cosine with the question.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, create_model

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.community_reports import Report, ReportWriter, degrees, within
from eval.systems.documents import RANKED, embed_beginnings, said
from eval.systems.graph_elements import Element, ElementGraph, element_graph
from eval.systems.language import Language, numbered
from eval.systems.leiden_levels import Community, at_level, leiden_levels
from eval.systems.options import options_of
from eval.systems.text_nodes import TextNode, as_passage, leaves_below, ranked_leaves, rows_by, said_by
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder
from nscma_torch.llm.engines.structured import ReplyForm

_MAP = (
    "You get a question and numbered reports on parts of what was read. points: what the reports tell towards the "
    "answer, each in one or two sentences to be understood alone, with the numbers of the reports that it rests on, "
    "and a score from 0 to 100: how much it helps to answer the question, 0 if not at all. [] if the reports tell "
    "nothing of it. Say nothing that the reports do not."
)


class PointForm(ReplyForm):
    """Something that helps to answer."""

    text: Annotated[str, Field(min_length=1, max_length=500)]
    score: Annotated[int, Field(ge=0, le=100)]
    reports: Sequence[int]


class PointsForm(ReplyForm):
    """What a pack of reports tells."""

    points: Sequence[PointForm]


@cache
def points_form(reports: int) -> type[PointsForm]:
    """The form over so many reports."""
    number: Any = Annotated[int, Field(ge=1, le=reports)]
    rests = (list[number], Field(min_length=1, max_length=reports))
    point = create_model("PointOnReports", __base__=PointForm, reports=rests)
    return create_model("PointsOnReports", __base__=PointsForm, points=(list[point], Field(max_length=8)))


class GraphRagOptions(Section):
    """Options of kind graph-rag."""

    search: Literal["global", "local"] = Field("global", description="From reports of a level, or around entities.")
    level: int = Field(2, ge=0, description="Of the reports of a global search; leaves above it are read, too.")
    tokens: int = Field(8000, gt=0, description="Of a report's texts, of a pack of reports, and of what is read.")
    gleanings: int = Field(1, ge=0, description="Times that a model is asked what it missed in a passage.")
    words: int = Field(100, gt=0, description="Of a description; without an engine of a report, too.")
    largest: int = Field(10, gt=1, description="Members from which on a community is not divided.")
    entities: int = Field(10, gt=0, description="Nearest entities of a local search.")
    relationships: int = Field(10, gt=0, description="Relationships to others, for each of these, of a local search.")
    passages: float = Field(0.5, ge=0, le=1, description="Share of the tokens for passages in a local search.")
    reports: float = Field(0.15, ge=0, le=1, description="Share of the tokens for reports in a local search.")


class GraphRag:
    """The graph and the reports on it.

    Attributes:
        graph: entities and relationships.
        communities: of the entities, parents before children.
        reports: on each of them.
    """

    def __init__(self, language: Language, embedder: Embedder, options: GraphRagOptions, seed: int) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._seed = seed
        self._passages: Sequence[Passage] = ()
        self._said = self._named = self._told = torch.empty(0, embedder.dimension)  # of passages, entities, reports
        self.graph = ElementGraph()
        self.communities: list[Community] = []
        self.reports: list[Report] = []

    def keep(self, passages: Sequence[Passage]) -> None:
        """Build the index. Raises the engine's `EngineError`."""
        self._passages = passages
        if not passages:
            return
        own = self._options
        self._said = self._embedder.embed([said(passage) for passage in passages]).cpu()
        self.graph = element_graph(self._language, passages, gleanings=own.gleanings, words=own.words)
        edges = {ends: float(one.instances) for ends, one in self.graph.relationships.items()}
        self.communities = leiden_levels(edges, largest=own.largest, seed=self._seed)
        writer = ReportWriter(self._language, self._embedder, tokens=own.tokens, words=own.words)
        self.reports = writer.write(self.graph, self.communities)
        self._named = embed_beginnings(self._embedder, [entity.text for entity in self.graph.entities])
        self._told = embed_beginnings(self._embedder, [report.node.text for report in self.reports])

    def find(self, question: str, now: datetime) -> Found:
        """What the question is answered from, of what was said by now."""
        if not self._passages:
            return Found((), ())
        query = self._embedder.embed_query(question).cpu()
        nodes = self._points(question, query, now) if self._options.search == "global" else self._around(query, now)
        leaves = ranked_leaves(nodes, self._said @ query)[:RANKED]
        return Found([as_passage(node, self._passages) for node in nodes], [self._passages[row] for row in leaves])

    def _points(self, question: str, query: torch.Tensor, now: datetime) -> list[TextNode]:
        """The points of a global search, the most helpful first."""
        level = at_level(self.communities, self._options.level)
        known = [level[place] for place in said_by([self.reports[own].node for own in level], self._passages, now)]
        random.Random(self._seed).shuffle(known)
        if self._language.engine is None:
            cosines = (self._told[known] @ query).tolist()
            scored = [(round(100 * cosine), self.reports[own].node) for own, cosine in zip(known, cosines, strict=True)]
        else:
            scored = self._mapped(question, [self.reports[own].node for own in known])
        helping = sorted((one for one in scored if one[0] > 0), key=lambda one: -one[0])
        return self._within([node for _, node in helping], self._options.tokens)

    def _mapped(self, question: str, nodes: Sequence[TextNode]) -> list[tuple[int, TextNode]]:
        """The points that a model writes of the reports, pack by pack, with their scores."""

        def shown(some: Sequence[TextNode]) -> dict[str, Any]:
            return {"question": question, "reports": numbered([node.text for node in some])}

        packs: list[list[TextNode]] = []
        left = list(nodes)
        while left:
            size = len(self._within(left, self._options.tokens))
            packs += self._language.packed(_MAP, left[:size], shown)
            left = left[size:]
        found = []
        for pack in packs:
            (form,) = self._language.fill(points_form(len(pack)), _MAP, [shown(pack)])
            for point in form.points:
                leaves = leaves_below([pack[number - 1] for number in point.reports])
                found.append((point.score, TextNode(point.text, leaves, written=True)))
        return found

    def _around(self, query: torch.Tensor, now: datetime) -> list[TextNode]:
        """The context of a local search: passages, entities and relationships, reports."""
        rows = rows_by(self._passages, now)
        order = (self._named @ query).argsort(descending=True, stable=True).tolist()
        chosen = [own for own in order if rows.issuperset(self.graph.entities[own].rows)][: self._options.entities]
        joined = [one for one in self.relationships_of(chosen) if rows.issuperset(one.rows)]
        reports = [report.node for report in self.reports_of(chosen) if rows.issuperset(report.node.leaves)]
        entities = [self.graph.entities[own] for own in chosen]
        elements = [TextNode(one.text, tuple(one.rows), written=True) for one in (*entities, *joined)]
        units = [TextNode(said(self._passages[row]), (row,)) for row in self.passages_of(chosen) if row in rows]
        own, tokens = self._options, self._options.tokens
        shares = own.passages, max(0.0, 1 - own.passages - own.reports), own.reports
        parts = zip((units, elements, reports), shares, strict=True)
        return [node for nodes, share in parts for node in self._within(nodes, int(share * tokens))]

    def passages_of(self, chosen: Sequence[int]) -> list[int]:
        """Rows of the passages that entities were found in, of the first entity first."""
        found: dict[int, None] = {}
        for own in chosen:
            held = Counter(row for ends, one in self.graph.relationships.items() if own in ends for row in one.rows)
            new = self.graph.entities[own].rows
            found |= dict.fromkeys(sorted(new, key=lambda row: (-held[row], row)))
        return list(found)

    def relationships_of(self, chosen: Sequence[int]) -> list[Element]:
        """Relationships among some entities, then those to others, by how many of them these are joined with."""
        degree, own = degrees(self.graph), {*chosen}
        touching = [one for ends, one in self.graph.relationships.items() if own.intersection(ends)]
        touching.sort(key=lambda one: (-sum(degree[end] for end in one.ends), one.ends))
        outer = Counter(end for one in touching for end in one.ends if end not in own)
        inside = [one for one in touching if own.issuperset(one.ends)]
        others = [one for one in touching if not own.issuperset(one.ends)]
        others.sort(key=lambda one: -sum(outer[end] for end in one.ends))
        return [*inside, *others[: self._options.relationships * len(chosen)]]

    def reports_of(self, chosen: Sequence[int]) -> list[Report]:
        """Reports on the communities of a level that hold some entities, those that hold most of them first."""
        level = at_level(self.communities, self._options.level)
        held = {own: len({*chosen} & {*self.communities[own].members}) for own in level}
        order = sorted((own for own in level if held[own]), key=lambda own: (-held[own], -self.reports[own].rating))
        return [self.reports[own] for own in order]

    def _within(self, nodes: Sequence[TextNode], tokens: int) -> list[TextNode]:
        return list(nodes[: len(within(self._embedder, [node.text for node in nodes], tokens))]) if tokens else []

    def store_bytes(self) -> int:
        """Of texts, vectors and the graph's edges."""
        elements = [*self.graph.entities, *self.graph.relationships.values()]
        written = sum(len(text.encode()) for text in [one.text for one in elements])
        written += sum(len(report.node.text.encode()) for report in self.reports)
        vectors = self._said.nbytes + self._named.nbytes + self._told.nbytes
        return text_bytes(self._passages) + written + vectors + 3 * 8 * len(self.graph.relationships)


def make_graph_rag(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind graph-rag."""
    options = options_of(GraphRagOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(GraphRag(Language(shared, engine), shared.embedder, options, shared.seed)),
    )
