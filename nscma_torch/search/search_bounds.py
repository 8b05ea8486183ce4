"""The part of a store that a question may find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nscma_torch.core.config import RetrievalConfig
from nscma_torch.core.records import RecordFilter, Scope, UnitKind


@dataclass(frozen=True, slots=True)
class Bounds:
    """The scope, the time and the units that a question is limited to.

    Attributes:
        now: what was said later is not found; the clock of what was said may be `skew` ahead.
        metadata: keys with the value that a unit's message must have.
        record: what the structured record of a unit's message must be; None for any, or none.
        without: keys with values; a unit whose message has them all is left out.
        among: row numbers of the units that may be found; None for all.
        expired: whether what has expired may be found too.
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
