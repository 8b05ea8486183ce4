"""Single-step search, and one step along the titles that the question and the best hits mention.

What a question about two things needs is often named only in what is found for the first. With b(d) the score of a
unit relative to the best, and w(d) the weight of a link to it,

    b'(d) = b(d) + q w(d) where the question mentions a title of d,
    score(d) = b'(d) + g max over the best hits h that mention a title of d of b'(h) w(d).

Where nothing has a title, as in a conversation, it is single-step search.
"""

from __future__ import annotations

from nscma_torch.retrieval.ground import Found, Ground, best_first

_POOL = 200  # units that have a score of their own
_READ = 10  # best hits whose text is read for titles
_NAMED = 0.4  # q; of .2-.5 best on even questions of MuSiQue and 2WikiMultihopQA
_LINKED = 0.4  # g; of .3-.9


def links(ground: Ground, question: str, top_k: int) -> Found:
    """The best units after one step along titles."""
    ranked = ground.rank(question, max(top_k, _POOL))
    if not ranked.scores:
        return Found({}, ranked.support)
    best = max(ranked.scores.values())
    own = dict(ranked.scores)
    (named,) = ground.linked([question])
    for seq, weight in named.items():
        own[seq] = own.get(seq, 0.0) + _NAMED * best * weight
    read = list(best_first(own, _READ))
    gained: dict[int, float] = {}
    units = ground.units(read)
    for seq, targets in zip(units, ground.linked([unit.text for unit in units.values()]), strict=True):
        for target, weight in targets.items():
            if target != seq:
                gained[target] = max(gained.get(target, 0.0), _LINKED * own[seq] * weight)
    scores = {seq: own.get(seq, 0.0) + gained.get(seq, 0.0) for seq in own.keys() | gained.keys()}
    kept = best_first(scores, top_k)
    linked = {"named": named, "link_score": gained}
    parts = {
        seq: ranked.parts.get(seq, {}) | {name: own[seq] for name, own in linked.items() if seq in own} for seq in kept
    }
    trace = (f"{len(named)} units under titles that the question names", f"{len(gained)} under titles that hits name")
    return Found(kept, ranked.support, parts, trace)
