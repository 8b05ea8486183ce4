"""Split a question into subquestions, search with each of them, and merge the results.

A unit's score is its mean score over the subquestions and the whole question, each relative to that search's best unit,
so a unit found by several of them ranks first.
"""

from __future__ import annotations

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.protocols import QueryTasks
from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking, best_first

_POOL = 100  # units of each question, at least


def self_questioning(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return the best units for the question and its subquestions."""
    tasks = context.tasks
    if not isinstance(tasks, QueryTasks):
        raise ConfigError("self-questioning needs language tasks with imagine and divide; use single-step")
    asked = list(dict.fromkeys((question, *tasks.divide(question))))
    rankings = [context.rank(one, max(top_k, _POOL)) for one in asked]
    scores: dict[int, float] = {}
    for ranking in rankings:
        most = max(ranking.scores.values(), default=1.0)
        for seq, score in ranking.scores.items():
            scores[seq] = scores.get(seq, 0.0) + score / most / len(rankings)
    kept = best_first(scores, top_k)
    parts = {
        seq: rankings[0].parts.get(seq, {})
        | {f"question_{j}": one.scores[seq] for j, one in enumerate(rankings, 1) if seq in one.scores}
        for seq in kept
    }
    return Ranking(kept, rankings[0].answerability, parts, tuple(f"asked {one!r}" for one in asked))
