"""From the top of the hierarchy down, level by level (CAM section 5.3, hierarchical traversal; RAPTOR)."""

from __future__ import annotations

from nscma_torch.errors import InvalidInputError
from nscma_torch.retrieval.context import RetrievalContext
from nscma_torch.retrieval.ranking import Ranking, best_first

_WIDTH = 20  # s, nodes that are opened on each level; of 10, 20, 40
_ALL = 1 << 30


def traversal(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """The best chunks below the best nodes; where there is no hierarchy, nothing.

    Raises `InvalidInputError` where chunks are not asked for: they alone are at the bottom.
    """
    if "chunk" not in context.bounds.kinds:
        raise InvalidInputError("traversal goes down to chunks; ask for kind chunk, or take another strategy")
    ranked = context.rank(question, _ALL, kinds=(*context.bounds.kinds, "summary"))
    level, steps = context.roots(), 0
    reached: dict[int, float] = {}
    while level:
        best = best_first({seq: ranked.scores[seq] for seq in level if seq in ranked.scores}, _ALL)
        below = context.children(list(best))
        reached |= {seq: score for seq, score in best.items() if seq not in below}
        opened = [seq for seq in best if seq in below][:_WIDTH]
        level = list(dict.fromkeys(child for seq in opened for child in below[seq]))
        steps += 1
    kept = best_first(reached, top_k)
    parts = {seq: ranked.parts.get(seq, {}) for seq in kept}
    return Ranking(kept, ranked.answerability, parts, trace=(f"{steps} levels, {len(reached)} units at the bottom",))
