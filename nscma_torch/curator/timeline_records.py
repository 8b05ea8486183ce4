"""What a timeline is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from nscma_torch.records import FactStatus

Effect = Literal["opens", "joins", "ends", "past", "loses", "corrects", "corrected", "nothing"]


@dataclass(frozen=True, slots=True)
class Span:
    """A value with the time that it holds: [valid_from, valid_to), None for unknown and for still.

    `claims` support it, `ended_by` are those that ended or dispute it. `sequence` puts spans that begin at one time in
    the order they were said, and `ended` is where in it they ended. One of confidence 0 never held: it was corrected,
    or outweighed, and has no length.
    """

    value: str
    valid_from: int | None
    valid_to: int | None
    status: FactStatus
    confidence: float
    claims: tuple[int, ...]
    ended_by: tuple[int, ...]
    sequence: int
    ended: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one claim did: `spans` are the places, in `Timeline.spans`, of its own one and of those that it ended."""

    effect: Effect
    spans: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The spans of a group in the order of time, and what each claim did, by its `seq`."""

    spans: tuple[Span, ...]
    outcomes: Mapping[int, Outcome]
