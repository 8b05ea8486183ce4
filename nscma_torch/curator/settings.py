"""What shapes the curator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nscma_torch.curator.claims import Rules

_DAY = 86_400_000_000  # microseconds


def _trust() -> Mapping[str, float]:
    return {"user": 1.0, "document": 0.9, "tool": 0.8, "assistant": 0.6, "system": 0.5}


@dataclass(frozen=True, slots=True)
class CuratorSettings:
    """Settings of the curator; spans of time are in days.

    Attributes:
        half_life: age at which a statement weighs half (NSCMA section 3.5, the decay of Score).
        decision_ratio: ratio of scores, at least 1, below which both sides of a contradiction are kept as disputed.
        correction_window: within this time a correction that names nothing is about what its speaker said just before.
        trust: how far statements count, in (0, 1], by the role that made them.
        initial_strength: S of a memory that was told once and never recalled: retention is 1/e after it.
        gain: what each recall, or each further statement, adds to S, in units of `initial_strength`.
        floor: retention, in [0, 1), below which a memory goes from search to the archive; 0 forgets nothing.
        promotion: share of what is missing to importance 1 that each recall adds.
        profile_lines: most lines of a user's profile.
        profile_objects: most objects that one line names.
    """

    half_life: float = 90.0
    decision_ratio: float = 1.25
    correction_window: float = 1.0
    trust: Mapping[str, float] = field(default_factory=_trust)
    initial_strength: float = 365.0
    gain: float = 1.0
    floor: float = 0.05
    promotion: float = 0.05
    profile_lines: int = 24
    profile_objects: int = 6

    @property
    def rules(self) -> Rules:
        """How claims are weighed."""
        return Rules(
            half_life=int(self.half_life * _DAY),
            decision_ratio=self.decision_ratio,
            correction_window=int(self.correction_window * _DAY),
        )
