"""Files that are no store, damaged stores, and disks that are full or closed to us."""

from __future__ import annotations

import random
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database import schema
from nscma_torch.core.errors import StoreAccessError, StoreError, StoreFormatError, StoreFullError, StoreVersionError

Open = Callable[..., Memory]
Contents = Callable[[Path], dict[str, list[Any]]]


def unchanged(path: Path, kind: type[StoreError], match: str, open_memory: Open) -> None:
    """Opening raises, and neither the file nor its folder is touched."""
    before = {p.name: p.read_bytes() for p in path.parent.iterdir() if p.is_file()}
    with pytest.raises(kind, match=match) as caught:
        open_memory(path)
    assert type(caught.value) is kind
    assert {p.name: p.read_bytes() for p in path.parent.iterdir() if p.is_file()} == before


@pytest.mark.parametrize("journal", ["delete", "wal", "wal, open"])
def test_a_sqlite_file_of_another_program(journal: str, open_memory: Open, tmp_path: Path) -> None:
    path = tmp_path / "browser.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute(f"PRAGMA journal_mode={journal.split(',')[0]}")
        theirs.execute("CREATE TABLE episodes (id, text)")
        theirs.execute("INSERT INTO episodes VALUES (1, 'mine')")
        theirs.commit()
        if "open" in journal:
            unchanged(path, StoreFormatError, "another program", open_memory)
    unchanged(path, StoreFormatError, "another program", open_memory)


def test_a_sqlite_file_with_another_application_id(open_memory: Open, tmp_path: Path) -> None:
    path = tmp_path / "geo.gpkg"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute(f"PRAGMA application_id={0x47504B47}")
        theirs.execute("PRAGMA user_version=2")
    unchanged(path, StoreFormatError, "another program", open_memory)


@pytest.mark.parametrize(
    "data", [b"x", b"Dear diary, today I moved.\n" * 99, b"\0" * 5000, b"SQLite format 3\0" + b"?" * 90]
)
def test_a_file_that_is_no_database(data: bytes, open_memory: Open, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(data)
    unchanged(path, StoreFormatError, "notes.txt", open_memory)


def test_a_folder_and_a_missing_folder(open_memory: Open, tmp_path: Path) -> None:
    unchanged(tmp_path, StoreAccessError, "is a folder", open_memory)
    with pytest.raises(StoreAccessError, match="does not exist"):
        open_memory(tmp_path / "nowhere" / "store.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("version", "advice"), [(schema.SCHEMA_VERSION + 1, "upgrade nscma-torch"), (1, "unreleased")])
def test_a_store_of_another_version(
    version: int, advice: str, filled: Memory, open_memory: Open, tmp_path: Path
) -> None:
    filled.close()
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={version}")
    unchanged(path, StoreVersionError, advice, open_memory)


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_store(seed: int, open_memory: Open, tmp_path: Path, conversation: Any) -> None:
    """Whatever is read of it, a clear error or a finding of `verify`; never an error of SQLite's, never silence."""
    memory = open_memory()
    list(memory.add_many(conversation(20, long=False), user_id="ada"))
    memory.close()
    path = tmp_path / "store.db"
    rng, data = random.Random(seed), bytearray(path.read_bytes())
    if seed == 0:
        data = data[: len(data) // 2]
    else:
        for _ in range(4):
            page = rng.randrange(1, len(data) // 4096)
            data[page * 4096 : (page + 1) * 4096] = rng.randbytes(4096)
    path.write_bytes(data)
    found: list[str] = []
    try:
        damaged = open_memory()
        found = damaged.verify()
        damaged.search("Porto", user_id="ada")
        damaged.log(user_id="ada")
    except StoreFormatError as error:
        found.append(str(error))
        assert "store.db" in str(error)
    assert found


@pytest.mark.parametrize("name", ["what?.db", "a b.db", "100%25.db", "#1.db", "日本.db", "file:x.db", "semi;colon.db"])
def test_any_file_name_will_do(name: str, open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory(name)
    memory.add("I moved.", user_id="ada")
    memory.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert len(open_memory(name).log(user_id="ada")) == 1


def test_a_full_disk(open_memory: Open, tmp_path: Path, contents: Contents) -> None:
    memory = open_memory(config={"store": {"max_pages": 160}})
    kept = []
    with pytest.raises(StoreFullError, match=r"nothing was written.*store\.max_pages"):
        for i in range(10_000):
            before, digest = contents(tmp_path / "store.db"), memory.digest()
            kept.append(memory.add(f"Parcel {i} went to the address marker{i}lane.", user_id="ada")[0].id)
    assert len(kept) > 5
    assert contents(tmp_path / "store.db") == before
    assert memory.digest() == digest
    assert memory.verify() == []
    # what is there can be read, searched and exported
    assert [episode.id for episode in memory.log(user_id="ada")] == kept
    assert memory.search("marker3lane", user_id="ada", top_k=1)[0].id == kept[3]
    assert len(list(memory.export())) > len(kept)
    memory.close()
    larger = open_memory()
    larger.add("Now there is room again.", user_id="ada")
    assert len(larger.log(user_id="ada")) == len(kept) + 1
    assert larger.verify() == []


def test_a_disk_that_fills_up_during_erasure(open_memory: Open, conversation: Any) -> None:
    memory = open_memory()
    list(memory.add_many(conversation(20, long=False), user_id="ada"))
    target = memory.log(user_id="ada")[3].id
    pages = memory.stats().file_bytes // 4096
    memory.components.database.close()
    tight = open_memory(config={"store": {"max_pages": pages}})
    assert tight.erase(user_id="ada", memory_id=target).found == 0
    assert tight.verify() == []


def test_a_folder_that_cannot_be_written(processes: Any, open_memory: Open, tmp_path: Path) -> None:
    """As a user without rights: on a folder of root's, on its store, and on a store that may only be read."""
    folder = tmp_path / "locked"
    folder.mkdir()
    memory = open_memory("locked/store.db")
    memory.add("I moved to Porto in March.", user_id="u")
    memory.close()
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_uid == 0 and place.stat().st_mode & stat.S_IWOTH == 0 and place != Path("/"):
            place.chmod(place.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    folder.chmod(0o755)
    (folder / "store.db").chmod(0o644)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    log = tmp_path / "said-probe"
    if processes.wait(processes.start("unprivileged", log, store=str(tmp_path / "open" / "new.db"))):
        pytest.skip("this machine does not let the test become an unprivileged user: " + log.read_text()[-200:])
    assert [line.split()[1] for line in log.read_text().splitlines()] == ["ok", "ok", "ok"]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in ("new.db", "store.db"):
        said = processes.run("unprivileged", tmp_path / f"said-{name}", store=str(folder / name))
        assert [line.split()[1] for line in said[:2]] == ["StoreAccessError"] * 2, said
        assert all(line.split()[1] in ("ok", "StoreAccessError") for line in said), said
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
