"""The searchable part of a store for one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nscma_torch.core.config import RetrievalConfig
from nscma_torch.core.records import RecordFilter, Scope, UnitKind


@dataclass(frozen=True, slots=True)
class Bounds:
    """Scope, time and unit filters of a question.

    Attributes:
        now: later messages are not found; message times may be `skew` ahead of it.
        metadata: required keys and values of a unit's message.
        record: filter on the structured record of a unit's message; None for no filter.
        without: keys and values; units whose message has them all are excluded.
        among: row numbers of the searchable units; None for all.
        expired: include expired messages.
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
