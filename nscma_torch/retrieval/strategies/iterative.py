"""Searches again with the question extended by what was found (Structural Memory section 3.2, iterative retrieval).

The paper ranks by the last question alone. That loses what only the first one finds, so here every round counts, with
scores relative to its best: score = sum over rounds j of w^j s_j / max s_j.
"""

from __future__ import annotations

from nscma_torch.errors import TextTooLongError
from nscma_torch.retrieval.context import RetrievalContext
from nscma_torch.retrieval.ranking import Ranking, best_first

_ROUNDS = 3  # N, searches at most
_READ = 5  # T, hits of a round that the next question is made of
_POOL = 100  # units of each round, at least
_LATER = 0.5  # w; of .3-.7 best on even questions of LoCoMo, BEAM and the multi-hop sets together


def iterative(
    context: RetrievalContext, question: str, top_k: int, *, rounds: int = _ROUNDS, read: int = _READ
) -> Ranking:
    """The best units of at most N = `rounds`; a round whose question nothing can be added to is the last.

    The next question is made of the T = `read` best hits of a round.
    """
    asked, rankings = [question], [context.rank(question, max(top_k, _POOL))]
    while len(asked) < rounds:
        best = dict(list(rankings[-1].scores.items())[:read])
        better = context.tasks.refine(question, list(context.hits(best).values()))
        if not better or better in asked:
            break
        try:
            rankings.append(context.rank(better, max(top_k, _POOL)))
        except TextTooLongError:  # the question fits the embedder, but nothing can be added to it
            break
        asked.append(better)
    scores: dict[int, float] = {}
    for j, ranking in enumerate(rankings):
        most = max(ranking.scores.values(), default=1.0)
        for seq, score in ranking.scores.items():
            scores[seq] = scores.get(seq, 0.0) + _LATER**j * score / most
    kept = best_first(scores, top_k)
    parts = {seq: {f"round_{j}": r.scores[seq] for j, r in enumerate(rankings, 1) if seq in r.scores} for seq in kept}
    parts = {seq: rankings[0].parts.get(seq, {}) | own for seq, own in parts.items()}
    return Ranking(kept, rankings[0].answerability, parts, tuple(f"asked {one!r}" for one in asked))
