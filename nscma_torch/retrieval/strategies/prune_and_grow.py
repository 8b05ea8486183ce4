"""Prune-and-Grow (CAM section 4.3): the best nodes of all levels, then what lies beside and below those that help.

The paper gives all active nodes to the reader. Here they are ranked: by their own score, and a share of that of the
best active node that they lie beside or below.
"""

from __future__ import annotations

from nscma_torch.retrieval.context import RetrievalContext
from nscma_torch.retrieval.ranking import Ranking, best_first

_JUDGED = 20  # s, nodes of a candidate set: the best of all, later the best beside and below the active ones
_ROUNDS = 6  # candidate sets, at most
_ASSOCIATED = 0.2  # share of the score of an active node that lends it; of 0-.4
_ALL = 1 << 30


def prune_and_grow(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """The active set: candidates pruned by the language tasks, grown by peers and children until nothing new helps.

    The best node of all is judged in every round, so that what helps is measured by the same yardstick.
    """
    ranked = context.rank(question, _ALL, kinds=(*context.bounds.kinds, "summary"))
    candidates = list(ranked.scores)[:_JUDGED]
    yardstick = candidates[:1]
    active: dict[int, float] = {}
    lent: dict[int, float] = {}
    seen, rounds = set(candidates), 0
    while candidates and rounds < _ROUNDS:
        hits = context.hits({seq: ranked.scores[seq] for seq in dict.fromkeys([*yardstick, *candidates])})
        chosen = context.tasks.select(question, list(hits.values()))
        new = [seq for seq, helps in zip(hits, chosen, strict=True) if helps and seq not in active]
        active |= {seq: ranked.scores[seq] for seq in new}
        peers, children = context.peers(new), context.children(new)
        for seq in new:
            for near in (*peers.get(seq, ()), *children.get(seq, ())):
                lent[near] = max(lent.get(near, 0.0), active[seq])
        around = {seq: ranked.scores[seq] for seq in lent if seq not in seen and seq in ranked.scores}
        candidates = list(best_first(around, _JUDGED))
        seen.update(candidates)
        rounds += 1
    units = context.units(active)
    scores = {
        seq: active[seq] + _ASSOCIATED * lent.get(seq, 0.0)
        for seq, unit in units.items()
        if unit.kind in context.bounds.kinds
    }
    kept = best_first(scores, top_k)
    parts = {seq: ranked.parts.get(seq, {}) | {"association": _ASSOCIATED * lent.get(seq, 0.0)} for seq in kept}
    return Ranking(
        kept, ranked.answerability, parts, (f"{len(seen)} nodes looked at in {rounds} rounds, {len(units)} active",)
    )
