"""Choose a question's strategy if `strategy = "auto"`.

Following links to chunks was best or near the best on every set of `eval.experiments.retrieval.retrieval_table`, so
that is the strategy, except for summaries and skills, which have no titles to follow. For a question about the present,
the newest statement of a matter is also ranked before those it renews.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from nscma_torch.core.records import OF_ONE_MESSAGE, UnitKind
from nscma_torch.reading.question_intent import intent


class RetrievalPlan(NamedTuple):
    """A strategy's name, whether to promote the newest statement of a matter, and why."""

    strategy: str
    newest_first: bool
    reasons: tuple[str, ...]


def plan(question: str, kinds: Collection[UnitKind]) -> RetrievalPlan:
    """Plan the retrieval for a question about units of these kinds."""
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
