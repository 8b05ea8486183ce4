"""Search, then a closer look at what was found (Structural Memory section 3.2, reranking)."""

from __future__ import annotations

from nscma_torch.retrieval.ground import Found, Ground

_POOL = 50  # K, units that are looked at


def rerank(ground: Ground, question: str, top_k: int) -> Found:
    """The best units of a wide search, in the order that the language tasks, or the configured model, give them."""
    ranked = ground.rank(question, max(top_k, _POOL))
    hits = ground.hits(ranked.scores)
    relevance = ground.relevance(question, list(hits.values())) if hits else []
    order = sorted(zip(hits, relevance, strict=True), key=lambda item: (-item[1], -ranked.scores[item[0]]))
    parts = {seq: ranked.parts.get(seq, {}) | {"relevance": value} for seq, value in order[:top_k]}
    return Found(dict(order[:top_k]), ranked.support, parts, (f"{len(hits)} units looked at again",))
