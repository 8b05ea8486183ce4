"""Damage to a hierarchy's rows: `verify` names it, and the digest is another."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from tests.hierarchy.lively import (
    LIVELY_CONFIG,
    NOW,
    Open,
    said,
)


@pytest.fixture(scope="module")
def filled(stored: Callable[..., Path], light_surprise: Any) -> Path:
    def fill(memory: Memory) -> None:
        list(memory.add_many(said(range(30)), user_id="ada", now=NOW))
        memory.flush()

    return stored(fill, LIVELY_CONFIG, surprise_model=light_surprise)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM nodes WHERE level = 0 AND number = (SELECT min(number) FROM nodes WHERE level = 0)",
        "DELETE FROM nodes WHERE level = 1 AND number = (SELECT min(number) FROM nodes WHERE level = 1)",
        "DELETE FROM node_units WHERE level = 1 AND number = (SELECT min(number) FROM nodes WHERE level = 1)",
        "DELETE FROM personas WHERE level = 0 AND node = (SELECT min(number) FROM nodes WHERE level = 0)",
        "UPDATE links SET persona_a = 99999 WHERE level = 0 AND a = (SELECT min(a) FROM links WHERE level = 0)",
        "UPDATE links SET b = 99999 WHERE level = 0 AND a = (SELECT min(a) FROM links WHERE level = 0) "
        "AND b = (SELECT max(b) FROM links WHERE level = 0 AND a = (SELECT min(a) FROM links WHERE level = 0))",
        "UPDATE nodes SET user_id = 'bob' WHERE level = 1",
        "UPDATE units SET status = 'deleted' WHERE kind = 'summary'",
        "UPDATE personas SET user_id = 'bob' WHERE level = 0 AND id = 0",
        "UPDATE links SET user_id = 'bob' WHERE level = 0",
        "UPDATE links SET weight = -1 WHERE level = 0",
        "UPDATE personas SET node = 99999 WHERE level = 0 AND id = 0",
        "UPDATE hierarchies SET next_ids = '{}'",
    ],
)
def test_damage_to_a_hierarchy_is_found(damage: str, filled: Path, open_lively: Open, tmp_path: Path) -> None:
    memory = open_lively(shutil.copy(filled, tmp_path))
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute(damage).rowcount > 0
        connection.commit()
    assert memory.verify() != []


def test_the_digest_covers_the_hierarchy(filled: Path, open_lively: Open, tmp_path: Path) -> None:
    memory = open_lively(shutil.copy(filled, tmp_path))
    before = memory.digest()
    for change in (
        "UPDATE personas SET label = label + 1 WHERE level = 0 AND id = 0",
        "UPDATE links SET cut = NOT cut",
        "UPDATE units SET text = 'x' || text WHERE kind = 'summary'",
        "DELETE FROM node_units WHERE level = 1",
    ):
        with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
            assert connection.execute(change).rowcount > 0
            connection.commit()
        after = memory.digest()
        assert after != before, change
        before = after
