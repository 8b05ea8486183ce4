"""One hybrid search (Structural Memory section 3.2, single-step retrieval)."""

from __future__ import annotations

from dataclasses import replace

from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking


def single_step(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return the best units by fused score."""
    ranked = context.rank(question, top_k)
    return replace(ranked, trace=(f"{len(ranked.scores)} units by one search",))
