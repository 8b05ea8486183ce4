"""A backup of a store in use is sound, complete and a store; nothing is left of one that failed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import StoreAccessError, StoreFormatError
from nscma_torch.maintenance import check
from tests.helpers.telling import fill

Open = Callable[..., Memory]
BEFORE = 15


def test_a_backup_is_a_store_that_goes_on(open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory("one.db")
    fill(memory)
    memory.flush()
    before = memory.digest()
    target = tmp_path / "kept.db"
    assert memory.backup(target) == target.stat().st_size
    memory.add("I moved to Oslo.", user_id="ada")
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.glob("kept.db*")) == ["kept.db"]
    kept = open_memory(target)
    assert kept.digest() == before and kept.verify() == []
    kept.backup(tmp_path / "restored.db")
    restored = open_memory(tmp_path / "restored.db")
    restored.add("I moved to Bergen.", user_id="ada")
    assert restored.search("Bergen", user_id="ada")[0].text == "I moved to Bergen." and restored.verify() == []


def test_a_backup_under_load_holds_what_was_acknowledged_before_it(open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory("one.db")
    fill(memory)
    told: list[int] = []
    enough = threading.Event()

    def tell() -> None:
        while not enough.is_set():
            memory.add(f"Jar {len(told)} is on the shelf.", user_id="ada")
            told.append(len(told))

    teller = threading.Thread(target=tell)
    teller.start()
    while len(told) < BEFORE:
        time.sleep(0.01)
    acknowledged = len(told)
    try:
        memory.backup(tmp_path / "kept.db")
    finally:
        meanwhile = len(told)
        enough.set()
        teller.join()
    kept = open_memory("kept.db")
    found = {hit.text for hit in kept.search("jar shelf", user_id="ada", top_k=2 * len(told))}
    assert {f"Jar {number} is on the shelf." for number in range(acknowledged)} <= found
    assert kept.verify() == [] and meanwhile > acknowledged, "the writer went on"


def test_nothing_is_overwritten(open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory("one.db")
    fill(memory)
    (tmp_path / "kept.db").write_text("a letter")
    for name in ("kept.db", "one.db"):
        with pytest.raises(StoreAccessError, match="exists; name a new file"):
            memory.backup(tmp_path / name)
    assert (tmp_path / "kept.db").read_text() == "a letter"
    with pytest.raises(StoreAccessError, match="does not exist"):
        memory.backup(tmp_path / "nowhere" / "kept.db")


@pytest.mark.skipif(os.name == "nt", reason="an open file can't be removed there")
def test_a_backup_that_is_not_sound_is_not_kept(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory("one.db")
    fill(memory)
    monkeypatch.setattr(check, "problems", lambda *_, **__: ["unit 3 has no vector"])
    with pytest.raises(StoreFormatError, match="not sound, and was not kept: unit 3 has no vector"):
        memory.backup(tmp_path / "kept.db")
    assert not list(tmp_path.glob("kept.db*"))
