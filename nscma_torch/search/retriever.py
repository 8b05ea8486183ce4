"""Run a retrieval strategy, given by name or chosen by the planner."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

from nscma_torch.core.config import RetrievalConfig
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.protocols import LanguageTasks
from nscma_torch.core.records import Hit, Scope, UnitKind
from nscma_torch.episodic.index import units
from nscma_torch.search.budget import within
from nscma_torch.search.context import Reranker, RetrievalContext
from nscma_torch.search.planner import RetrievalPlan, plan
from nscma_torch.search.promote_latest import HEAD, promote_latest
from nscma_torch.search.ranking import Ranking
from nscma_torch.search.search import Retrieved, Searcher
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.search.strategies import STRATEGIES
from nscma_torch.semantic.graph.fact_graphs import FactGraphs


class Retriever:
    """Retrieves units with any strategy.

    Args:
        graphs, tasks: return the fact graphs and the configured language tasks; called only if a strategy needs them.
        settings: settings for the strategies, and the default strategy.
        reranker: returns the reranker, and is called on first use; None to use the language tasks.
    """

    def __init__(
        self,
        searcher: Searcher,
        database: Database,
        graphs: Callable[[], FactGraphs],
        tasks: Callable[[], LanguageTasks],
        settings: RetrievalConfig,
        reranker: Callable[[], Reranker] | None,
    ) -> None:
        self._searcher = searcher
        self._database = database
        self._graphs = graphs
        self._tasks = tasks
        self._settings = settings
        self._reranker = reranker

    def retrieve(
        self,
        question: str,
        bounds: Bounds,
        *,
        strategy: str | None = None,
        top_k: int | None = None,
        threshold: float | None = None,
        budget: int | None = None,
        explain: bool = False,
        tasks: LanguageTasks | None = None,
    ) -> Retrieved:
        """Return the best units within the bounds, best first.

        Args:
            top_k: number of units; None for `retrieval.top_k`.
            tasks: the language tasks for the strategy; None for the configured ones.
            budget: maximum total tokens, counted by the embedder's tokenizer; texts are dropped or cut between
                sentences.

        Raises:
            InvalidInputError: the strategy is unknown.
            ConfigError: the language tasks lack an operation that the strategy needs.
        """
        top_k = self._settings.top_k if top_k is None else top_k
        name, newest_first, trace = self.chosen(question, strategy, bounds.kinds)
        reranker = self._reranker() if self._reranker is not None and name == "rerank" else None
        context = RetrievalContext(
            self._searcher,
            self._database,
            self._graphs,
            self._tasks if tasks is None else lambda: tasks,
            bounds,
            settings=self._settings,
            reranker=reranker,
            explain=explain,
        )
        found = STRATEGIES[name](context, question, max(top_k, HEAD) if newest_first else top_k)
        if threshold is not None:
            found = replace(found, scores={seq: score for seq, score in found.scores.items() if score >= threshold})
        if newest_first:
            found = _renewed(context, question, found, top_k)
        hits = _hits(context, found, explain)
        if budget is not None:
            hits = within(hits, budget, self._searcher.count_tokens)
        return Retrieved(hits, found.answerability, trace + found.trace)

    def behind(self, question: str, hits: Sequence[Hit], bounds: Bounds) -> list[Hit]:
        """Return the source chunks of facts and summaries, at most as many chunks as there are hits.

        This is memory-doc answering (Structural Memory section 3.3). A chunk gets the score of the first hit that it is
        a source of; the chunks behind one hit are ordered by similarity to the question.
        """
        ranked = self._searcher.rank(question, replace(bounds, kinds=("chunk",)), sys.maxsize).scores
        user_id = bounds.scope.user_id
        with self._database.read(user_id) as connection:
            chunks = units.chunks_of(connection, user_id, [id for hit in hits for id in hit.unit.episode_ids])
        scores: dict[int, float] = {}
        renewed: set[int] = set()
        for hit in hits:
            own = [seq for id in hit.unit.episode_ids for seq in chunks.get(id, ())]
            for seq in sorted(dict.fromkeys(own), key=lambda seq: (-ranked.get(seq, 0.0), seq)):
                if seq not in scores and hit.renewed:
                    renewed.add(seq)
                scores.setdefault(seq, hit.score)
        found = self._searcher.load(list(scores), user_id)
        behind = [Hit(found[seq], score, renewed=seq in renewed) for seq, score in scores.items() if seq in found]
        return behind[: len(hits)]

    def ids(self, question: str, scope: Scope, now: datetime, kinds: tuple[UnitKind, ...], top_k: int) -> list[str]:
        """Return the ids of a scope's best units of the given kinds at a given time."""
        found = self.retrieve(question, Bounds(scope, now, kinds=kinds), top_k=top_k)
        return [hit.unit.id for hit in found.hits]

    def chosen(self, question: str, strategy: str | None, kinds: Collection[UnitKind]) -> RetrievalPlan:
        """Choose the strategy for a question and kinds of unit, and give the reason."""
        name = self._settings.strategy if strategy is None else strategy
        if name == "auto":
            return plan(question, kinds)
        if not isinstance(name, str) or name not in STRATEGIES:
            raise InvalidInputError(f"unknown strategy {name!r}; strategies are auto, {', '.join(STRATEGIES)}")
        return RetrievalPlan(name, False, (f"strategy {name}",))


def _hits(context: RetrievalContext, found: Ranking, explain: bool) -> list[Hit]:
    parts = found.parts if explain else {}
    return [
        Hit(unit, found.scores[seq], parts.get(seq, {}), seq in found.renewed)
        for seq, unit in context.units(found.scores).items()
    ]


def _renewed(context: RetrievalContext, question: str, found: Ranking, top_k: int) -> Ranking:
    head = list(found.scores)[:HEAD]
    outdated = context.outdated(head)
    scores, renewed = promote_latest(found.scores, context.units(head), context.cosines, question, outdated)
    own = {seq: {"own_score": found.scores[seq]} for seq, score in scores.items() if score != found.scores[seq]}
    parts = {seq: dict(found.parts.get(seq, {})) | own.get(seq, {}) for seq in scores}
    return replace(found, scores=dict(list(scores.items())[:top_k]), parts=parts, renewed=renewed)
