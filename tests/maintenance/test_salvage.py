"""The export of a store with one damaged page: what can be read, a report of the rest, and an import that works."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nscma_torch.api.memory import Memory
from nscma_torch.cli import app
from nscma_torch.core.errors import StoreFormatError
from nscma_torch.core.records import Message, Scope
from nscma_torch.episodic.log.streams import stream_id_of
from nscma_torch.maintenance import salvage

pytestmark = pytest.mark.sqlite_file("it damages the file")

Open = Callable[..., Memory]
PAGE = 4096
MESSAGES = 40


def pages_of(path: Path, name: str) -> tuple[int, list[int]]:
    """The root page of a table or index, and the pages below it, numbered from 1."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    page = path.read_bytes()[(root - 1) * PAGE : root * PAGE]
    if page[0] not in (2, 5):  # of an index, of a table: pages with pages below them
        return root, []
    places = (
        int.from_bytes(page[at : at + 2], "big") for at in range(12, 12 + 2 * int.from_bytes(page[3:5], "big"), 2)
    )
    return root, [int.from_bytes(page[at : at + 4], "big") for at in places]


def damage(path: Path, page: int) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))


@pytest.fixture(scope="module")
def filled(stored: Callable[..., Path]) -> Path:
    def fill(memory: Memory) -> None:
        texts = [f"Locker {number} is in hall {number % 7}." for number in range(MESSAGES)]
        memory.add([Message("user", text) for text in texts], user_id="ana")
        memory.delete(memory.log(user_id="ana")[0].id, user_id="ana")

    return stored(fill)


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(filled, tmp_path))


@pytest.mark.parametrize(
    ("table", "least"),
    [("postings", MESSAGES), ("users", MESSAGES), ("streams", MESSAGES), ("episodes", MESSAGES // 2)],
)
def test_what_can_be_read_is_exported_and_imported(table: str, least: int, store: Path, open_memory: Open) -> None:
    root, below = pages_of(store, table)
    damage(store, below[len(below) // 2] if table == "episodes" else root)
    memory = open_memory(store.name)
    told: list[str] = []
    lines = list(memory.export(report=told.append))
    assert told[-1].startswith("what follows from messages")
    assert any(f"table {table} is damaged" in one for one in told) == (table != "postings")
    other = open_memory("other.db")
    other.import_(lines)
    log = other.log(user_id="ana")
    assert least <= len(log) <= MESSAGES and (len(log) == MESSAGES) == (table != "episodes")
    other.flush()
    assert other.verify() == [] and other.search("locker hall", user_id="ana")
    assert len(other.get_all(user_id="ana", limit=None)) == len(log) - (log[0].status == "deleted")


def test_the_command_says_what_was_lost(store: Path, tmp_path: Path) -> None:
    damage(store, pages_of(store, "users")[0])
    done = CliRunner().invoke(app, ["export", str(tmp_path / "out.jsonl"), "--store", str(store)])
    assert done.exit_code == 1 and "table users is damaged" in " ".join(done.output.split())
    assert (tmp_path / "out.jsonl").read_text().count("Locker") == MESSAGES


def set_columns(path: Path, **values: str) -> None:
    """Change columns of the first message past the library."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, value in values.items():
            connection.execute(f"UPDATE episodes SET {name} = ? WHERE seq = 2", (value,))


@pytest.mark.parametrize("damaged", [{"metadata": '{"a": '}, {"decision": "[1]"}, {"observation": "\x01\x02"}])
def test_damaged_json_is_one_clear_error_and_left_out_of_an_export(
    damaged: dict[str, str], store: Path, open_memory: Open
) -> None:
    set_columns(store, **damaged)
    memory = open_memory(store.name)
    if "observation" not in damaged:
        with pytest.raises(StoreFormatError, match="restore a copy, or export what can be read with `nscma export`"):
            memory.log(user_id="ana")
    assert [one for one in memory.verify() if one.endswith("is not a JSON object")]
    told: list[str] = []
    lines = list(memory.export(report=told.append))
    assert len(told) == 1 and told[0].startswith(f"{next(iter(damaged))} of message")
    other = open_memory("other.db")
    other.import_(lines)
    assert len(other.log(user_id="ana")) == MESSAGES and other.verify() == []


def test_a_message_whose_text_was_damaged_gets_an_id_of_what_is_left(store: Path, open_memory: Open) -> None:
    set_columns(store, text="Locker l is in ha11 1.")
    damage(store, pages_of(store, "postings")[0])
    memory, other = open_memory(store.name), open_memory("other.db")
    other.import_(memory.export())
    assert other.log(user_id="ana")[1].text == "Locker l is in ha11 1." and other.verify() == []


def test_a_stream_whose_row_is_lost_gets_the_id_of_a_document_without_a_name() -> None:
    own = {"user_id": "ana", "agent_id": None, "run_id": None, "position": 3}
    said = [
        {**own, "stream_id": stream_id_of(Scope("ana"))},
        {**own, "stream_id": stream_id_of(Scope("ana"), "a.txt")},
    ]
    made = salvage._streams([], said)
    assert {row["id"] for row in made} == {row["stream_id"] for row in said}
    assert all(row["id"] == stream_id_of(Scope("ana"), row["source"]) and row["next_position"] == 4 for row in made)
