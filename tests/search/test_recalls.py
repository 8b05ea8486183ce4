"""Which messages a search has recalled."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from nscma_torch.core.records import Hit, Scope, Unit, UnitKind
from nscma_torch.search.recalls import Recalls

NOW = datetime(2024, 9, 1, tzinfo=UTC)


def hit(kind: UnitKind, *episodes: str) -> Hit:
    return Hit(Unit(kind, Scope("ada"), kind, "text", episodes, NOW), 1.0)


def test_a_summary_recalls_none_of_its_messages() -> None:
    recalls = Recalls(cast("Any", None), timed=False)
    recalls.note("ada", [hit("chunk", "a"), hit("summary", "a", "b", "c"), hit("triple", "b")], at=NOW)
    assert recalls.waiting() == {"ada": ({"a": 1, "b": 1}, {})}
