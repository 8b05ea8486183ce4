"""Facts for tests, written as rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from nscma_torch.core.records import Fact, Scope

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    """Midnight of that many days after the first."""
    return _BEGIN + timedelta(days=number)


def fact(
    subject: str, relation: str, object_: str, since: int | None = None, until: int | None = None, **more: Any
) -> Fact:
    """A fact that held from one day to another: archived where it ended, else active."""
    number = next(_NUMBERS)
    values: dict[str, Any] = {
        "id": f"f{number}",
        "scope": Scope("u"),
        "topic": "",
        "valid_from": None if since is None else day(since),
        "valid_to": None if until is None else day(until),
        "recorded_at": _BEGIN,
        "retired_at": None,
        "status": "active" if until is None else "archived",
        "confidence": 0.9,
        "strength": 1,
        "sequence": number,
        "episode_ids": (f"e{number}",),
    }
    return Fact(subject=subject, relation=relation, object=object_, **{**values, **more})


_NUMBERS = iter(range(10**9))
