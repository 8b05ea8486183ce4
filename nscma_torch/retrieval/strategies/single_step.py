"""One hybrid search (Structural Memory section 3.2, single-step retrieval)."""

from __future__ import annotations

from nscma_torch.retrieval.ground import Found, Ground


def single_step(ground: Ground, question: str, top_k: int) -> Found:
    """The best units by their fused score."""
    ranked = ground.rank(question, top_k)
    return Found(ranked.scores, ranked.support, ranked.parts, trace=(f"{len(ranked.scores)} units by one search",))
