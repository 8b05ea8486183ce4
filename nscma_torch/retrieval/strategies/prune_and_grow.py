"""Prune-and-Grow (CAM section 4.3): the best nodes of all levels, then what lies beside and below those that help."""

from __future__ import annotations

from nscma_torch.retrieval.ground import Found, Ground, best_first

_SEEDS = 20  # s, nodes of the candidate set D
_ROUNDS = 5  # times that the active set P may grow
_ALL = 1 << 30


def prune_and_grow(ground: Ground, question: str, top_k: int) -> Found:
    """The active set: D pruned by the language tasks, grown by neighbours and children until nothing new helps."""
    tree = ground.structure()
    ranked = ground.rank(question, _ALL, kinds=(*ground.bounds.kinds, "summary"))
    candidates = list(ranked.scores)[: max(_SEEDS, top_k)]
    active: dict[int, float] = {}
    seen = set(candidates)
    rounds = 0
    while candidates and rounds <= _ROUNDS:
        hits = ground.hits({seq: ranked.scores.get(seq, 0.0) for seq in candidates})
        chosen = ground.tasks.select(question, list(hits.values()))
        new = [seq for seq, useful in zip(hits, chosen, strict=True) if useful]
        active |= {seq: ranked.scores.get(seq, 0.0) for seq in new}
        around = [near for seq in new for near in (*tree.peers.get(seq, ()), *tree.children.get(seq, ()))]
        candidates = [seq for seq in dict.fromkeys(around) if seq not in seen and seq in ranked.scores]
        seen.update(candidates)
        rounds += 1
    wanted = ground.bounds.kinds
    units = ground.units(active)
    active = {seq: active[seq] for seq, unit in units.items() if unit.kind in wanted}
    kept = best_first(active, top_k)
    return Found(kept, ranked.support, trace=(f"{len(seen)} nodes looked at in {rounds} rounds, {len(units)} active",))
