"""What a search of ada's finds at a fixed time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from nscma_torch.api.memory import Memory

NOW = datetime(2024, 9, 1, 12, tzinfo=UTC)


def found(memory: Memory, query: str, **arguments: Any) -> list[str]:
    return [hit.text for hit in memory.search(query, **{"user_id": "ada", "now": NOW, **arguments})]
