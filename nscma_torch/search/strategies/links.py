"""Follow titles: a question about two things often needs a page that is only named in a hit about the first thing.

A pass is one search, followed by one step along the titles mentioned by the question and the best hits. If b(d) is a
unit's score relative to the best score, and w(d) is the weight of a link to it, then

    b'(d) = b(d) + q w(d) where the question mentions a title of d,
    score(d) = b'(d) + g max over the best hits h that mention a title of d of b'(h) w(d).

If links led to any unit, a second pass adds names to the question that it lacks but the best hits mention. The final
score is the mean of both passes' scores, each relative to the pass's best. Names are recognised by capitals, so Chinese
questions get one pass. Without titles, as in a conversation, this is single-step search.
"""

from __future__ import annotations

from nscma_torch.core.errors import TextTooLongError
from nscma_torch.reading.relevance import refined
from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking, best_first

_POOL = 200  # units that have a score of their own
_READ = 10  # number of best hits searched for titles
_ASKED_OF = 3  # number of best hits whose names are added to the second question; best of 3, 5
_NAMED = 0.4  # q; of .2-.5 best on even questions of MuSiQue and 2WikiMultihopQA
_LINKED = 0.4  # g; of .3-.9


def links(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return the best units after one or two passes."""
    ranked = context.rank(question, max(top_k, _POOL))
    first = _pass(context, question, ranked)
    if not any(first.parts[seq].keys() & {"named", "link_score"} for seq in first.scores):
        return _cut(first, ranked, top_k)
    best = {seq: first.scores[seq] for seq in list(first.scores)[:_ASKED_OF]}
    asked = refined(question, list(context.hits(best).values()))
    try:
        second = _pass(context, asked, context.rank(asked, _POOL)) if asked else None
    except TextTooLongError:  # the question fits the embedder, but nothing can be added to it
        second = None
    if second is None or not second.scores:
        return _cut(first, ranked, top_k)
    top, again = max(first.scores.values()), max(second.scores.values())
    scores = {
        seq: (first.scores.get(seq, 0.0) + second.scores.get(seq, 0.0) * top / again) / 2
        for seq in first.scores.keys() | second.scores.keys()
    }
    parts = {seq: dict(first.parts.get(seq, {})) for seq in scores}
    for seq, score in second.scores.items():
        parts[seq]["second_score"] = score
    trace = (*first.trace, f"follow-up query: {asked!r}")
    return _cut(Ranking(scores, first.answerability, parts, trace), ranked, top_k)


def _pass(context: RetrievalContext, question: str, ranked: Ranking) -> Ranking:
    """Take one step along titles from the first `_POOL` units of a search; return all score components."""
    if not ranked.scores:
        return Ranking({}, ranked.answerability)
    best = max(ranked.scores.values())
    own = dict(list(ranked.scores.items())[:_POOL])
    (named,) = context.linked([question])
    for seq, weight in named.items():
        own[seq] = own.get(seq, 0.0) + _NAMED * best * weight
    units = context.units(best_first(own, _READ))
    gained: dict[int, float] = {}
    for seq, targets in zip(units, context.linked([unit.text for unit in units.values()]), strict=True):
        for target, weight in targets.items():
            if target != seq:
                gained[target] = max(gained.get(target, 0.0), _LINKED * own[seq] * weight)
    scores = {seq: own.get(seq, 0.0) + gained.get(seq, 0.0) for seq in own.keys() | gained.keys()}
    linked = {"named": named, "link_score": gained}
    parts = {
        seq: ranked.parts.get(seq, {}) | {key: by[seq] for key, by in linked.items() if seq in by} for seq in scores
    }
    trace = (f"{len(named)} units under titles in the question", f"{len(gained)} under titles in hits")
    return Ranking(best_first(scores, len(scores)), ranked.answerability, parts, trace)


def _cut(found: Ranking, ranked: Ranking, top_k: int) -> Ranking:
    """Return the `top_k` best units; if that is more than were examined, the remaining search results follow."""
    kept = best_first(found.scores, top_k)
    last = min(kept.values(), default=0.0)
    rest = {seq: min(score, last) for seq, score in ranked.scores.items() if seq not in found.scores}
    kept |= dict(list(rest.items())[: top_k - len(kept)])
    parts = {seq: found.parts.get(seq, ranked.parts.get(seq, {})) for seq in kept}
    return Ranking(kept, found.answerability, parts, found.trace)
