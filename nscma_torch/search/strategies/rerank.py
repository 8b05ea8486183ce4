"""Search, then rerank the hits (Structural Memory section 3.2, reranking)."""

from __future__ import annotations

from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking


def rerank(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return a search's best units in the order given by the language tasks or the configured model.

    The first K = `retrieval.rerank.looked_at` are examined. R = `retrieval.rerank.kept` of them are returned; with 0,
    as many as are wanted, and beyond K the search order follows.
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
