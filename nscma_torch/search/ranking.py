"""The result of a search or a strategy: scored units, and a trace of the steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nscma_torch.search.answerability import Answerability


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scores by the units' row numbers, best first, and the steps taken.

    Attributes:
        answerability: estimates, when called, whether the memory holds an answer.
        parts: the components of each unit's score, if requested.
        trace: short lines for people.
        renewed: units for which a newer one on the same matter was found; see `promote_latest`.
    """

    scores: dict[int, float]
    answerability: Answerability
    parts: dict[int, dict[str, float]] = field(default_factory=dict)
    trace: tuple[str, ...] = ()
    renewed: frozenset[int] = frozenset()


def best_first(scores: Mapping[int, float], top_k: int) -> dict[int, float]:
    """Return the `top_k` largest scores, best first, ties in storage order."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:top_k])
