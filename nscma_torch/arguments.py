"""What the arguments of `Memory` mean, checked: scopes and filters, limits, times."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from nscma_torch.errors import InvalidInputError, ScopeError
from nscma_torch.records import Scope
from nscma_torch.text.timestamps import parse_timestamp


def narrowed(filters: Mapping[str, Any] | None, **ids: str | None) -> tuple[Scope, dict[str, Any]]:
    """The scope of a read, from its own arguments and those inside `filters`, and the metadata that must match."""
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInputError(f"filters must map names to values, got {type(filters).__name__}")
    wanted = dict(filters or {})
    for name, value in ids.items():
        inside = wanted.pop(name, value)
        if value is not None and inside != value:
            raise ScopeError(f"{name} is {value!r}, and {inside!r} inside filters; give one of them")
        ids[name] = inside
    return Scope(ids["user_id"] or "", ids["agent_id"], ids["run_id"]), wanted


def checked_limit(limit: int | None) -> int | None:
    """The largest number of results: None for all. Raises `InvalidInputError` below 1."""
    if limit is not None and limit < 1:
        raise InvalidInputError(f"limit is {limit}, it must be at least 1, or None for all")
    return limit


def clock(now: datetime | None) -> datetime:
    """The time that stands for now, in UTC; None for the clock's."""
    return datetime.now(UTC) if now is None else parse_timestamp(now)
