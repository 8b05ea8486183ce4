"""Chooses the strategy of a question where `strategy = "auto"`.

Chunks reached by links are measured best or beside the best on every set of
`eval.experiments.retrieval.retrieval_table`, so that is the strategy, but for summaries and skills, which have no
titles to follow. A question on how something stands now gets, besides, the newest statement of a matter before those
that it renews.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from nscma_torch.core.records import OF_ONE_MESSAGE, UnitKind
from nscma_torch.reading.question_intent import intent


class RetrievalPlan(NamedTuple):
    """A strategy by name, whether the newest statement of a matter goes first, and why."""

    strategy: str
    newest_first: bool
    reasons: tuple[str, ...]


def plan(question: str, kinds: Collection[UnitKind]) -> RetrievalPlan:
    """The plan for a question about units of these kinds."""
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
