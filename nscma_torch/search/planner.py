"""Choose the strategy for a question if `strategy = "auto"`.

On every dataset in `eval.experiments.retrieval.retrieval_table`, following links was best or nearly best for chunks, so
chunks are searched with links; summaries and skills have no titles to follow. If the question is about the present, the
newest statement on a topic is also ranked before the ones it renews.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from nscma_torch.core.records import OF_ONE_MESSAGE, UnitKind
from nscma_torch.reading.question_intent import intent


class RetrievalPlan(NamedTuple):
    """A strategy's name, whether to promote the newest statement on a topic, and the reason."""

    strategy: str
    newest_first: bool
    reasons: tuple[str, ...]


def plan(question: str, kinds: Collection[UnitKind]) -> RetrievalPlan:
    """Plan the retrieval of units of these kinds for a question."""
    if OF_ONE_MESSAGE.isdisjoint(kinds):
        return RetrievalPlan(
            "single-step", False, ("strategy single-step: an overview of many messages has no titles to follow",)
        )
    followed = "strategy links: follows titles named in the question or its best hits"
    if intent(question) == "current":
        return RetrievalPlan(
            "links", True, (followed, "question about the current state: the newest statement comes first")
        )
    return RetrievalPlan("links", False, (followed,))
