"""Search, then rerank the hits (Structural Memory section 3.2, reranking)."""

from __future__ import annotations

from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking


def rerank(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return the best units from a search, reordered by the language tasks or by the configured reranker.

    The first K = `retrieval.rerank.looked_at` units are examined, and R = `retrieval.rerank.kept` of them are returned.
    If R is 0, `top_k` units are returned, in search order after the first K.
    """
    settings = context.settings.rerank
    ranked = context.rank(question, settings.looked_at if settings.kept else max(top_k, settings.looked_at))
    top_k = min(top_k, settings.kept or top_k)
    seqs = list(ranked.scores)
    hits = context.hits({seq: ranked.scores[seq] for seq in seqs[: settings.looked_at]})
    relevance = dict(zip(hits, context.relevance(question, list(hits.values())), strict=True)) if hits else {}
    order = sorted(relevance, key=lambda seq: (-relevance[seq], -ranked.scores[seq]))
    scores = {seq: relevance[seq] for seq in order}
    for seq in seqs[settings.looked_at :]:
        scores[seq] = min(relevance.values(), default=0.0) * ranked.scores[seq] / ranked.scores[seqs[0]]
    kept = dict(list(scores.items())[:top_k])
    parts = {
        seq: ranked.parts.get(seq, {}) | ({"relevance": relevance[seq]} if seq in relevance else {}) for seq in kept
    }
    return Ranking(kept, ranked.answerability, parts, (f"{len(hits)} units reranked",))
