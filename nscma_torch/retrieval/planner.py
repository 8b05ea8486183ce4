"""What `strategy = "auto"` takes for a question.

Chunks reached by links are measured best or beside the best on every set of `eval.retrieval`, so the rules are two:
what is asked of summaries alone has no titles to follow, and all else takes links, which is a single step where there
are no titles.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from nscma_torch.records import UnitKind


class Plan(NamedTuple):
    """A strategy by name, and why."""

    strategy: str
    reason: str


def plan(kinds: Collection[UnitKind]) -> Plan:
    """The strategy for a question about units of these kinds."""
    if set(kinds) <= {"summary", "skill"}:
        return Plan("single-step", "summaries and skills have no titles to follow")
    return Plan("links", "titles that the question or its best hits name are followed")
