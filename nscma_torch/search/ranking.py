"""The result of a search or strategy: scored units, and a trace of the steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nscma_torch.search.answerability import Answerability


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scores by the units' row numbers, best first, with a trace.

    Attributes:
        answerability: when called, estimates whether the memory contains an answer.
        parts: the components of each unit's score, if requested.
        trace: short human-readable lines.
        renewed: units for which a newer one on the same topic was found; see `promote_latest`.
    """

    scores: dict[int, float]
    answerability: Answerability
    parts: dict[int, dict[str, float]] = field(default_factory=dict)
    trace: tuple[str, ...] = ()
    renewed: frozenset[int] = frozenset()


def best_first(scores: Mapping[int, float], top_k: int) -> dict[int, float]:
    """Return the `top_k` largest scores, best first; ties are in storage order."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:top_k])
