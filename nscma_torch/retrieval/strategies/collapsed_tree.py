"""All levels of the hierarchy at once (CAM section 5.3, global retrieval; RAPTOR's collapsed tree)."""

from __future__ import annotations

from nscma_torch.retrieval.context import RetrievalContext, StrategyResult


def collapsed_tree(context: RetrievalContext, question: str, top_k: int) -> StrategyResult:
    """The best units, chunks and summaries side by side."""
    ranked = context.rank(question, top_k, kinds=(*context.bounds.kinds, "summary"))
    return StrategyResult(
        ranked.scores, ranked.answerability, ranked.parts, trace=("chunks and summaries of every level side by side",)
    )
