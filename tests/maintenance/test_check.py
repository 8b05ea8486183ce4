"""`verify` finds what is wrong: each kind of damage, made by hand, is named."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory

pytestmark = pytest.mark.sqlite_file("it damages the file")


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        ("UPDATE postings SET tf = tf + 1 WHERE rowid_ = 1", "lexical index"),
        ("DELETE FROM postings WHERE term = 'kyoto'", "lexical index of unit"),
        ("UPDATE units SET text = 'forged' WHERE kind = 'chunk' AND seq = 1", "is not its message's text"),
        ("UPDATE units SET status = 'deleted' WHERE seq = 1", "is deleted, its message active"),
        ("UPDATE episodes SET status = 'deleted' WHERE seq = 1", "is active, its message deleted"),
        ("DELETE FROM unit_sources WHERE unit_seq = 1", "has no chunk"),
        ("DELETE FROM unit_sources WHERE unit_seq = 1", "comes from no message"),
        (
            "UPDATE unit_sources SET user_id = 'bob' WHERE unit_seq = 1",
            "unit_sources refer to episodes that belong to another user",
        ),
        ("DELETE FROM units WHERE seq = 2", "foreign key"),
        ("UPDATE vectors SET vector = substr(vector, 1, 7)", "vectors have 7 bytes"),
        ("UPDATE streams SET next_position = 0", "beyond its next position"),
        ("INSERT INTO postings VALUES ('ada', 'ghost', 999, 1)", "missing unit 999"),
    ],
)
def test_damage_is_found(damage: str, finding: str, memory: Memory, tmp_path: Path, conversation: Any) -> None:
    memory.add("My sister Ana was born in Kyoto in 1984.", user_id="ada")
    list(memory.add_many(conversation(5, long=False), user_id="ada"))
    memory.flush()
    assert memory.verify() == []
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        damage = damage.replace("rowid_ = 1", "term = 'kyoto'")
        assert connection.execute(damage).rowcount > 0
        connection.commit()
    assert any(finding in problem for problem in memory.verify()), memory.verify()
