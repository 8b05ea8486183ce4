"""Search again with the question refined from the hits (Structural Memory section 3.2, iterative retrieval).

The paper: q_0 = q; q_j = LLM(M_j, P_refine) with M_j = Retriever(q_{j-1}, T); after N rounds M_r = Retriever(q_N, K),
so only the last question determines the ranking (`ranked_by = "last-question"`). That loses units found only by the
first question, so by default every round counts, with scores relative to the round's best: score = sum over rounds j of
w^j s_j / max s_j.
"""

from __future__ import annotations

from dataclasses import replace

from nscma_torch.core.errors import TextTooLongError
from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking, best_first

_POOL = 100  # units of each round, at least
_LATER = 0.5  # w; of .3-.7 best on even questions of LoCoMo, BEAM and the multi-hop sets together


def iterative(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return the best units after at most N = `retrieval.iterative.refinements` refinements.

    Refinement ends early if the question no longer changes.

    Each refined question is built from the T = `retrieval.iterative.refined_from` best hits of the last round.
    """
    if context.settings.iterative.ranked_by == "last-question":
        return _by_last_question(context, question, top_k)
    return _by_all_rounds(context, question, top_k)


def _by_last_question(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    settings, asked = context.settings.iterative, [question]
    for _ in range(settings.refinements):
        found = context.rank(asked[-1], settings.refined_from)
        better = context.tasks.refine(asked[-1], list(context.hits(found.scores).values()))
        if not better or better in asked:
            break
        asked.append(better)
    return replace(context.rank(asked[-1], top_k), trace=_trace(asked))


def _by_all_rounds(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    settings, asked = context.settings.iterative, [question]
    rankings = [context.rank(question, max(top_k, _POOL))]
    while len(asked) < settings.refinements:
        best = dict(list(rankings[-1].scores.items())[: settings.refined_from])
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
    return Ranking(kept, rankings[0].answerability, parts, _trace(asked))


def _trace(asked: list[str]) -> tuple[str, ...]:
    return tuple(f"asked {one!r}" for one in asked)
