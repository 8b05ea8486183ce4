"""Bounds on the part of a store that is searched for one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nscma_torch.core.config import RetrievalConfig
from nscma_torch.core.records import RecordFilter, Scope, UnitKind


@dataclass(frozen=True, slots=True)
class Bounds:
    """Scope, time and unit filters for a question.

    Attributes:
        now: messages later than this are not found; message times may be ahead of it by up to `skew`.
        metadata: keys and values that a unit's message must have.
        record: filter on the structured record for a unit's message; None for no filter.
        without: units are excluded if their message has all these keys and values.
        among: row numbers of the units to search; None for all.
        expired: True to include expired messages.
    """

    scope: Scope
    now: datetime
    skew: timedelta = timedelta(0)
    kinds: tuple[UnitKind, ...] = RetrievalConfig().kinds
    metadata: Mapping[str, Any] = field(default_factory=dict)
    without: Mapping[str, Any] = field(default_factory=dict)
    record: RecordFilter | None = None
    among: tuple[int, ...] | None = None
    expired: bool = False
