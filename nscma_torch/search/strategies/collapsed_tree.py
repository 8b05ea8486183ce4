"""Search all levels of the hierarchy at once (CAM section 4.2, global retrieval; RAPTOR's collapsed tree)."""

from __future__ import annotations

from dataclasses import replace

from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking


def collapsed_tree(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return the best chunks and summaries in one ranking, scored as configured by `retrieval.nodes`."""
    ranked = context.rank_nodes(question, top_k)
    return replace(ranked, trace=("chunks and summaries from all levels ranked together",))
