"""Prune-and-Grow (CAM section 4.2): take the best nodes from all levels, then nodes beside and below the helpful ones.

With CAM's values of `retrieval.prune_and_grow` and `retrieval.nodes`: D_0 are the s nodes with the largest cosine to
the question; P_j = P_{j-1} plus the nodes of D_j that the language tasks select; D_{j+1} are the nodes beside and below
P_j that haven't been judged yet. The loop ends when P stops growing, or after `rounds` rounds. All of P is returned,
limited to the requested kinds (chunks, summaries or both). By default, the active nodes are ranked by their own score,
plus a share of the score of the best active node beside or above them.
"""

from __future__ import annotations

from nscma_torch.search.context import RetrievalContext, fitting
from nscma_torch.search.ranking import Ranking, best_first


def prune_and_grow(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return the active set: candidates pruned by the language tasks, then grown by helpful peers and children.

    The overall best node is judged in every round, as a fixed reference for the others.
    """
    settings = context.settings.prune_and_grow
    ranked = context.rank_nodes(question)
    candidates = list(ranked.scores)[: settings.candidates]
    yardstick = candidates[:1]
    active: dict[int, float] = {}
    lent: dict[int, float] = {}
    seen, rounds = set(candidates), 0
    while candidates and rounds < settings.rounds:
        hits = context.hits({seq: ranked.scores[seq] for seq in dict.fromkeys([*yardstick, *candidates])})
        chosen = fitting("select", context.tasks.select(question, list(hits.values())), hits)
        new = [seq for seq, helps in zip(hits, chosen, strict=True) if helps and seq not in active]
        active |= {seq: ranked.scores[seq] for seq in new}
        peers, children = context.peers(new), context.children(new)
        for seq in new:
            for near in (*peers.get(seq, ()), *children.get(seq, ())):
                lent[near] = max(lent.get(near, 0.0), active[seq])
        around = {seq: ranked.scores[seq] for seq in lent if seq not in seen and seq in ranked.scores}
        candidates = list(best_first(around, settings.grown or len(around)))
        seen.update(candidates)
        rounds += 1
    units = context.units(active)
    gains = {seq: settings.association * lent.get(seq, 0.0) for seq in units}
    scores = {seq: active[seq] + gains[seq] for seq, unit in units.items() if unit.kind in context.bounds.kinds}
    kept = best_first(scores, len(scores) if settings.returned == "active" else top_k)
    parts = {seq: ranked.parts.get(seq, {}) | {"association": gains[seq]} for seq in kept}
    return Ranking(
        kept, ranked.answerability, parts, (f"{len(seen)} nodes visited in {rounds} rounds, {len(units)} active",)
    )
