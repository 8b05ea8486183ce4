"""A timeline: the periods during which values hold, and the effect of each claim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from nscma_torch.core.records import SEQUENCE_STEP, FactStatus
from nscma_torch.semantic.timeline.claims import Claim

Effect = Literal["opens", "joins", "ends", "past", "loses", "corrects", "corrected", "nothing"]


@dataclass(slots=True)
class ValidSpan:
    """A value with the period in which it holds: [valid_from, valid_to) in microseconds; None if unknown or without an
    end.

    `resolve_claims.resolve` changes it while processing the claims, and sets `status` and `sequence` last.

    Attributes:
        supporters: the claims for the value, beginning with the one that started the span.
        named: the span comes from a claim that only states that another value replaced this one.
        deniers: claims that deny the value and are weighed against it; the first applies at time `denied_at`.
        enders: the claims that ended it.
        void: the value never held, because it was corrected or outweighed; the span has zero length.
        sequence: orders spans that begin at the same time by when they were said.
    """

    value: str
    valid_from: int | None
    valid_to: int | None = None
    supporters: list[Claim] = field(default_factory=list)
    named: bool = False
    deniers: list[Claim] = field(default_factory=list)
    denied_at: int = 0
    enders: list[Claim] = field(default_factory=list)
    void: bool = False
    reason: str = ""
    status: FactStatus = "active"
    sequence: int = 0

    @property
    def claims(self) -> tuple[int, ...]:
        """Return the numbers of the claims that support the span, ascending."""
        return tuple(sorted({claim.seq for claim in self.supporters}))

    @property
    def ended_by(self) -> tuple[int, ...]:
        """Return the numbers of the claims that ended or dispute the span without supporting it, ascending."""
        return tuple(sorted({claim.seq for claim in (*self.enders, *self.deniers)} - set(self.claims)))

    @property
    def confidence(self) -> float:
        """Return the probability that one of its claims is right, assuming they are independent; 0 if it never held."""
        return 0.0 if self.void else 1 - math.prod(1 - claim.confidence * claim.trust for claim in self.supporters)

    @property
    def ended(self) -> int | None:
        """Return the position of its end in the order of `sequence`; None if it has no end."""
        if self.valid_to is None:
            return None
        return max(self.sequence, SEQUENCE_STEP * max((claim.order for claim in self.enders), default=0))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effect of one claim; `spans` are the indices in `Timeline.spans` of its own span and of the spans it
    ended.
    """

    effect: Effect
    spans: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The spans in a group in time order, and the effect of each claim, by its `seq`."""

    spans: tuple[ValidSpan, ...]
    outcomes: Mapping[int, Outcome]
