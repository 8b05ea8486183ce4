"""The view of a memory that retrieval strategies use, within the bounds of one question."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from typing import TypeVar

from torch import Tensor

from nscma_torch.core.config import RetrievalConfig
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import ConfigError, EngineError
from nscma_torch.core.protocols import LanguageTasks, RetrievalTasks
from nscma_torch.core.records import Hit, Unit, UnitKind
from nscma_torch.episodic.index import units as unit_rows
from nscma_torch.hierarchy.store import hierarchy_walks
from nscma_torch.search.ranking import Ranking
from nscma_torch.search.search import Searcher
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.semantic.graph.fact_graph import FactGraph
from nscma_torch.semantic.graph.fact_graphs import FactGraphs
from nscma_torch.standing import effects

_Judged = TypeVar("_Judged", float, bool)
Reranker = Callable[[str, Sequence[Hit], Bounds], list[float]]  # how far each hit answers a question, in [0, 1]


class RetrievalContext:
    """The operations available to strategies. Each operation reads the store in its own transaction."""

    def __init__(
        self,
        searcher: Searcher,
        database: Database,
        graphs: Callable[[], FactGraphs],
        tasks: Callable[[], LanguageTasks],
        bounds: Bounds,
        *,
        settings: RetrievalConfig | None = None,
        reranker: Reranker | None = None,
        explain: bool = False,
    ) -> None:
        self._searcher = searcher
        self._database = database
        self._graphs = graphs
        self._units: dict[int, Unit] = {}
        self._tasks = tasks
        self._reranker = reranker
        self._explain = explain
        self.bounds = bounds
        self.settings = RetrievalConfig() if settings is None else settings

    @property
    def tasks(self) -> RetrievalTasks:
        """Return the language tasks that judge hits. Raises `ConfigError` if the configured ones can't."""
        tasks = self._tasks()
        if not isinstance(tasks, RetrievalTasks):
            raise ConfigError("this strategy needs language tasks with rerank, refine and select; use single-step")
        return tasks

    def rank(self, text: str, top_k: int, kinds: Sequence[UnitKind] | None = None) -> Ranking:
        """Return the best units by hybrid search, limited to `kinds` or else to the bounds' kinds."""
        bounds = self.bounds if kinds is None else replace(self.bounds, kinds=tuple(kinds))
        return self._searcher.rank(text, bounds, top_k, explain=self._explain)

    def nearest(self, text: str) -> Ranking:
        """Return the cosine of every unit's vector with a text's vector."""
        return self._searcher.nearest(text, self.bounds)

    def rank_nodes(self, question: str, top_k: int | None = None) -> Ranking:
        """Return the best nodes in the hierarchy, scored as set in `retrieval.nodes`; all nodes if `top_k` is None.

        Nodes are the units of the bounds' kinds, and the summaries on every level.
        """
        kinds = tuple(dict.fromkeys((*self.bounds.kinds, "summary")))
        if self.settings.nodes == "hybrid":
            return self.rank(question, sys.maxsize if top_k is None else top_k, kinds=kinds)
        return self._searcher.nearest(question, replace(self.bounds, kinds=kinds), top_k)

    def linked(self, texts: Sequence[str]) -> list[dict[int, float]]:
        """Return for each text the units under the headings it mentions, with link weights in (0, 1]."""
        return self._searcher.linked(texts, self.bounds)

    def cosines(self, seqs: Sequence[int]) -> Tensor:
        """Return the pairwise cosines of m units, [m, m]; 0 for units without a vector."""
        return self._searcher.cosines(seqs, self.bounds)

    def units(self, seqs: Iterable[int]) -> dict[int, Unit]:
        """Return the units with these row numbers, in this order, skipping units erased since the ranking."""
        seqs = list(seqs)
        new = [seq for seq in seqs if seq not in self._units]
        if new:
            self._units |= self._searcher.load(new, self.bounds.scope.user_id)
        return {seq: self._units[seq] for seq in seqs if seq in self._units}

    def hits(self, scores: Mapping[int, float]) -> dict[int, Hit]:
        """Return the scored units as hits, by row number."""
        return {seq: Hit(unit, scores[seq]) for seq, unit in self.units(scores).items()}

    def relevance(self, question: str, hits: Sequence[Hit]) -> list[float]:
        """Score how well each hit answers the question, in [0, 1], with the reranker or the language tasks."""
        if self._reranker is not None:
            return self._reranker(question, hits, self.bounds)
        return fitting("rerank", self.tasks.rerank(question, hits), hits)

    def roots(self) -> list[int]:
        """Return the units in the hierarchy that no summary covers."""
        with self._database.read(self.bounds.scope.user_id) as connection:
            return hierarchy_walks.roots(connection, self.bounds.scope.user_id, self.bounds.scope.agent_id)

    def children(self, seqs: Sequence[int]) -> dict[int, list[int]]:
        """Return the units directly below each summary in `seqs`."""
        with self._database.read(self.bounds.scope.user_id) as connection:
            return hierarchy_walks.children(connection, self.bounds.scope.user_id, self.bounds.scope.agent_id, seqs)

    def peers(self, seqs: Sequence[int]) -> dict[int, list[int]]:
        """Return the units linked to each of these units on the same level of the hierarchy."""
        with self._database.read(self.bounds.scope.user_id) as connection:
            return hierarchy_walks.peers(connection, self.bounds.scope.user_id, self.bounds.scope.agent_id, seqs)

    def outdated(self, seqs: Iterable[int]) -> dict[int, frozenset[int]]:
        """Return the units that don't hold because of later messages, with those of these units that tell it."""
        wanted = list(seqs)
        with self._database.read(self.bounds.scope.user_id) as connection:
            standings = effects.of_units(connection, wanted, to_micros(self.bounds.now))
            by = {standing.by for standing in standings.values() if standing.by is not None}
            told = unit_rows.active_chunks(connection, sorted(by))
        among = set(wanted)
        return {seq: frozenset(told.get(own.by, ())) & among for seq, own in standings.items() if own.by is not None}

    def facts(self) -> FactGraph:
        """Return the scope's facts as known at the bounds' time."""
        with self._database.read(self.bounds.scope.user_id) as connection:
            return self._graphs().of(connection, self.bounds.scope).at(self.bounds.now)


Strategy = Callable[[RetrievalContext, str, int], Ranking]  # a question, and how many units are wanted


def fitting(task: str, found: list[_Judged], hits: Sized) -> list[_Judged]:
    """Check that the language tasks returned one result per hit. Raises `EngineError` if not."""
    if len(found) != len(hits):
        raise EngineError(f"{task} must return one result per hit, but returned {len(found)} for {len(hits)} hits")
    return found
