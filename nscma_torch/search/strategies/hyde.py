"""Search with hypothetical passages that could answer the question (HyDE: Gao et al. 2023, arXiv 2212.10496).

The query vector is the mean of the vectors of the question and of N hypothetical passages. As stored vectors have unit
length, the query's inner product with a stored vector equals the mean of the cosines, and is computed that way.
"""

from __future__ import annotations

from nscma_torch.core.errors import ConfigError, TextTooLongError
from nscma_torch.core.protocols import QueryTasks
from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking, best_first

_SHOWN = 3  # hits of a first search that the embedded tasks make passages of


def hyde(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return the units nearest to the mean vector of the question and its hypothetical passages."""
    tasks = context.tasks
    if not isinstance(tasks, QueryTasks):
        raise ConfigError("hyde needs language tasks with imagine and divide; use single-step")
    found = context.nearest(question)
    hits = context.hits(dict(list(found.scores.items())[:_SHOWN]))
    rankings, trace = [found], []
    for passage in tasks.imagine(question, list(hits.values())):
        try:
            rankings.append(context.nearest(passage))
        except TextTooLongError:
            trace.append("omitted a passage that is too long for the embedder")
            continue
        trace.append(f"imagined {passage!r}")
    mean = {seq: sum(one.scores[seq] for one in rankings if seq in one.scores) / len(rankings) for seq in found.scores}
    kept = best_first(mean, top_k)
    return Ranking(kept, found.answerability, {seq: found.parts.get(seq, {}) for seq in kept}, tuple(trace))
