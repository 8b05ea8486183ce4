"""Search, ask better, search again (Structural Memory section 3.2, iterative retrieval)."""

from __future__ import annotations

from nscma_torch.retrieval.fusion import RRF_CONSTANT
from nscma_torch.retrieval.ground import Found, Ground, best_first

_ROUNDS = 3  # N, searches at most
_READ = 5  # T, hits of a round that the next question is made of


def iterative(ground: Ground, question: str, top_k: int) -> Found:
    """The rounds' results by reciprocal rank fusion; a round whose question nothing can be added to is the last."""
    asked, rankings = [question], [ground.rank(question, 4 * top_k)]
    while len(asked) < _ROUNDS:
        best = dict(list(rankings[-1].scores.items())[:_READ])
        better = ground.tasks.refine(question, list(ground.hits(best).values()))
        if not better or better in asked:
            break
        asked.append(better)
        rankings.append(ground.rank(better, 4 * top_k))
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, seq in enumerate(ranking.scores, start=1):
            scores[seq] = scores.get(seq, 0.0) + 1.0 / (RRF_CONSTANT + place)
    kept = best_first(scores, top_k)
    return Found(kept, rankings[0].support, trace=tuple(f"asked {one!r}" for one in asked))
