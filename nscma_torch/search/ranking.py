"""The result of a search or a strategy: units with scores, and a trace of what was done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nscma_torch.search.answerability import Answerability


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scores by the row number of the unit, best first, and what the search or strategy did.

    Attributes:
        answerability: computed when called: how far the memory holds an answer at all.
        parts: of a unit, what its score was made of, if asked for.
        trace: short lines for people.
        renewed: units of which a newer one of the same matter was found too; see `promote_latest`.
    """

    scores: dict[int, float]
    answerability: Answerability
    parts: dict[int, dict[str, float]] = field(default_factory=dict)
    trace: tuple[str, ...] = ()
    renewed: frozenset[int] = frozenset()


def best_first(scores: Mapping[int, float], top_k: int) -> dict[int, float]:
    """The `top_k` largest scores, best first; equal ones in the order in which the units were stored."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:top_k])
