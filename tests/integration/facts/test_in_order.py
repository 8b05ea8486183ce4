"""What one message, or messages of one time, tell in a row happened in that row."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message
from nscma_torch.curator.store.derived_schema import DERIVED_TABLES
from nscma_torch.episodic.index.unit_schema import unit_changes
from nscma_torch.features.records.record_schema import RECORD_TABLES

Open = Callable[..., Memory]
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
CONFIG = {"gate": {"rule": "everything"}, "hierarchy": {"enabled": False}}
STORY = [
    "Ann went to the kitchen.",
    "Ann picked up the milk.",
    "Ann went to the garden.",
    "Ann dropped the milk.",
    "Ann went to the office.",
]


def where(memory: Memory, question: str = "Where is the milk?") -> str:
    return memory.ask(question, user_id="u", now=AT).text


@pytest.mark.parametrize("messages", [[" ".join(STORY)], STORY], ids=["one message", "messages of one time"])
def test_a_thing_is_where_it_was_put_down(messages: list[str], open_memory: Open) -> None:
    memory = open_memory(config=CONFIG)
    memory.add([Message("document", text, AT, source="story") for text in messages], user_id="u", now=AT)
    memory.flush()
    assert where(memory) == "garden"
    assert where(memory, "Where is Ann?") == "office"


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        ("Ann went to the barn. Ann went to the shed. Ann went to the barn.", "Where is Ann?", "barn"),
        ("I live in Oslo. I moved from Rome to Oslo.", "Where did I live before Oslo?", "Rome"),
    ],
)
def test_what_is_said_again_is_left_out_only_if_it_says_nothing_else(
    told: str, question: str, answer: str, open_memory: Open
) -> None:
    memory = open_memory(config=CONFIG)
    memory.add(told, user_id="u", timestamp=AT, now=AT)
    memory.flush()
    assert where(memory, question) == answer


def test_a_store_of_schema_4_is_resolved_again(open_memory: Open, tmp_path: Path) -> None:
    for name in ("old.db", "new.db"):
        memory = open_memory(name, config=CONFIG)
        memory.add([Message("document", " ".join(STORY), AT, source="story")], user_id="u", now=AT)
        memory.flush()
        memory.close()
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.execute("ALTER TABLE facts DROP COLUMN ended")
        connection.execute("UPDATE facts SET sequence = sequence / 32")
        for table in (*RECORD_TABLES, *reversed(DERIVED_TABLES), unit_changes):
            connection.execute(f"DROP TABLE {table.name}")
        connection.execute("PRAGMA user_version=4")
        connection.commit()
    old, new = open_memory("old.db", config=CONFIG), open_memory("new.db", config=CONFIG)
    assert old.flush() > 0
    assert old.verify() == []
    assert where(old) == where(new) == "garden"
    assert old.digest() == new.digest()
