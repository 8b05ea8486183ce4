"""Rows of three users, mixed, and the store that `add` makes of them one by one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message
from tests.conftest import LIGHT
from tests.helpers.chatter import chatter

NOW = datetime(2026, 11, 1, tzinfo=UTC)
READING = {"model": "none", "facts": "none"}  # what is told in Chinese is read by forms
CONFIG = {
    **LIGHT,
    "reading": READING,
    "limits": {"max_batch": 4},
    "worker": {"batch_size": 4},
    "hierarchy": {"batch_size": 8},
}
Rows = list[dict[str, Any]]


def rows_of(count: int, seed: int = 0) -> Rows:
    """Messages of three users in several streams and one document; some are said twice, one id stands twice."""
    rng, said = random.Random(seed), datetime(2026, 3, 1, tzinfo=UTC)
    rows: Rows = []
    for number in range(count):
        said += timedelta(hours=rng.randint(1, 30))
        row = {
            "user_id": rng.choice(("ana", "bob", "cleo")),
            "role": rng.choice(("user", "user", "assistant")),
            "content": chatter(rng),
            "timestamp": said.isoformat(),
            "id": f"m{number}",
            "session": f"s{number // 20}",
            "metadata": {"place": number},
        }
        if rng.random() < 0.3:
            row["agent_id"] = rng.choice(("home", "work"))
        if rng.random() < 0.1:
            row |= {"role": "document", "source": "letter.md"}
        rows.append(row)
    rows.insert(count // 2, rows[count // 3])
    return rows


def write(path: Path, rows: Rows) -> Path:
    """Rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def add_one_by_one(memory: Memory, rows: Rows) -> None:
    """What bulk is compared with."""
    for row in rows:
        message = Message(
            row["role"],
            row["content"],
            datetime.fromisoformat(row["timestamp"]),
            session=row["session"],
            source=row.get("source"),
            metadata=row["metadata"],
            idempotency_key=row["id"],
        )
        memory.add(message, user_id=row["user_id"], agent_id=row.get("agent_id"), now=NOW)


@pytest.fixture
def by_add(open_memory: Callable[..., Memory]) -> Callable[[Rows], tuple[str, str]]:
    """Digests of a store to which rows were added one by one: before and after `flush`."""

    def made(rows: Rows) -> tuple[str, str]:
        memory = open_memory("one-by-one.db", CONFIG)
        add_one_by_one(memory, rows)
        before = memory.digest()
        memory.flush()
        return before, memory.digest()

    return made
