"""All levels of the hierarchy at once (CAM section 5.3, global retrieval; RAPTOR's collapsed tree)."""

from __future__ import annotations

from nscma_torch.retrieval.ground import Found, Ground


def everywhere(ground: Ground, question: str, top_k: int) -> Found:
    """The best units, chunks and summaries side by side."""
    ranked = ground.rank(question, top_k, kinds=(*ground.bounds.kinds, "summary"))
    return Found(
        ranked.scores, ranked.support, ranked.parts, trace=("chunks and summaries of every level side by side",)
    )
