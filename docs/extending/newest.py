# nscma_torch/search/strategies/newest.py
"""One hybrid search, the newest of its results first."""

from __future__ import annotations

from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking


def newest(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """The best `top_k` units of a search, ordered by the time they were said."""
    ranked = context.rank(question, top_k)
    units = context.units(ranked.scores)
    order = sorted(units, key=lambda seq: units[seq].occurred_at, reverse=True)
    scores = {seq: 1.0 / place for place, seq in enumerate(order, start=1)}
    return Ranking(scores, ranked.answerability, ranked.parts, trace=(f"{len(scores)} units, newest first",))
