"""Descend the hierarchy level by level (CAM section 4.2, hierarchical traversal; RAPTOR).

The question is compared with the nodes on one level, then with the nodes below the best of them, and so on. Results are
chunks, and the opened summaries if summaries are requested.
"""

from __future__ import annotations

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking, best_first


def traversal(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return the best nodes found on the way down, or none if there is no hierarchy.

    On each level, `retrieval.traversal.width` summaries are opened; `retrieval.nodes` configures how nodes are scored.
    Raises `InvalidInputError` if neither chunks nor summaries are requested, as a hierarchy contains nothing else.
    """
    kinds = context.bounds.kinds
    if not {"chunk", "summary"}.intersection(kinds):
        raise InvalidInputError("traversal finds chunks and summaries; request one of them, or use another strategy")
    ranked = context.rank_nodes(question)
    level, steps = context.roots(), 0
    passed: dict[int, float] = {}
    while level:
        scored = {seq: ranked.scores[seq] for seq in level if seq in ranked.scores}
        best = best_first(scored, len(scored))
        below = context.children(list(best))
        opened = [seq for seq in best if seq in below][: context.settings.traversal.width]
        passed |= {seq: score for seq, score in best.items() if seq in opened or seq not in below}
        level = list(dict.fromkeys(child for seq in opened for child in below[seq]))
        steps += 1
    wanted = {seq: passed[seq] for seq, unit in context.units(passed).items() if unit.kind in kinds}
    kept = best_first(wanted, top_k)
    parts = {seq: ranked.parts.get(seq, {}) for seq in kept}
    return Ranking(kept, ranked.answerability, parts, trace=(f"{steps} levels, {len(passed)} nodes visited",))
