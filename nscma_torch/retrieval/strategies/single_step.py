"""One hybrid search (Structural Memory section 3.2, single-step retrieval)."""

from __future__ import annotations

from nscma_torch.retrieval.context import RetrievalContext, StrategyResult


def single_step(context: RetrievalContext, question: str, top_k: int) -> StrategyResult:
    """The best units by their fused score."""
    ranked = context.rank(question, top_k)
    return StrategyResult(
        ranked.scores, ranked.answerability, ranked.parts, trace=(f"{len(ranked.scores)} units by one search",)
    )
