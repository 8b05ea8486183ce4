"""From the top of the hierarchy down, level by level (CAM section 5.3, hierarchical traversal; RAPTOR)."""

from __future__ import annotations

from nscma_torch.errors import InvalidInputError
from nscma_torch.retrieval.ground import Found, Ground, best_first

_WIDTH = 10  # s, nodes that are kept on each level
_ALL = 1 << 30


def traversal(ground: Ground, question: str, top_k: int) -> Found:
    """The best chunks below the best nodes; where there is no hierarchy, nothing.

    Raises `InvalidInputError` where chunks are not asked for: they alone are at the bottom.
    """
    if "chunk" not in ground.bounds.kinds:
        raise InvalidInputError("traversal goes down to chunks; ask for kind chunk, or take another strategy")
    tree = ground.structure()
    ranked = ground.rank(question, _ALL, kinds=(*ground.bounds.kinds, "summary"))
    level, steps = list(tree.roots), 0
    reached: dict[int, float] = {}
    while level:
        known = [seq for seq in level if seq in ranked.scores]
        best = sorted(known, key=lambda seq: (-ranked.scores[seq], seq))
        leaves = [seq for seq in best if not tree.children.get(seq)]
        reached |= {seq: ranked.scores[seq] for seq in leaves}
        opened = [seq for seq in best if tree.children.get(seq)][:_WIDTH]
        level = list(dict.fromkeys(child for seq in opened for child in tree.children[seq]))
        steps += 1
    kept = best_first(reached, top_k)
    return Found(kept, ranked.support, trace=(f"{steps} levels, {len(reached)} units at the bottom",))
