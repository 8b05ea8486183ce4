"""Messages older than `retention.days` are erased by sleep, with what was made of them, and nothing else is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import load_config
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message

Open = Callable[..., Memory]
FIRST = datetime(2026, 1, 1, 9, tzinfo=UTC)


def day(number: int) -> datetime:
    return FIRST + timedelta(days=number)


def said(memory: Memory, user_id: str) -> set[str]:
    return {message.text for message in memory.get_all(user_id=user_id)}


def told(open_memory: Open, **days: int) -> Memory:
    """Two users' messages of day 0 and day 20, a document of day 0, and a message of day 20 deleted on day 21."""
    memory = open_memory("store.db", config={"retention": {"days": days}})
    for user in ("ada", "bob"):
        for number in (0, 20):
            memory.add(f"Jar {number} of {user} is on the shelf.", user_id=user, now=day(number))
        memory.add(Message("document", f"Shelf plan of {user}.", source="plan.md"), user_id=user, now=day(0))
    (gone,) = memory.add("The gate code is 4471.", user_id="ada", now=day(20))
    memory.flush()
    memory.delete(gone.id, user_id="ada", now=day(21))
    return memory


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("store.db*"))


def test_sleep_erases_what_is_older_than_allowed(
    open_memory: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = told(open_memory, user=30)
    assert memory.sleep(now=day(30)).erased == 0, "not older than 30 days"
    assert memory.sleep(now=day(31), dry_run=True).erased == 2
    assert "Jar 0 of ada is on the shelf." in said(memory, "ada")
    with caplog.at_level(logging.INFO, "nscma"):
        assert memory.sleep(now=day(31)).erased == 2
    assert "erased 1 messages of user bob" in caplog.text and "Jar" not in caplog.text
    for user in ("ada", "bob"):
        assert said(memory, user) == {f"Jar 20 of {user} is on the shelf.", f"Shelf plan of {user}."}
        assert all("Jar 0" not in hit.text for hit in memory.search("jar", user_id=user, now=day(31)))
    assert memory.verify() == [] and b"Jar 0 of" not in on_disk(tmp_path)
    assert memory.sleep(now=day(31)).erased == 0


def test_what_another_process_erased_meanwhile_is_no_error(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = told(open_memory, user=10)
    eraser = memory.components.eraser
    erase = eraser.episodes

    def late(user_id: str, ids: list[str]) -> Any:
        monkeypatch.setattr(eraser, "episodes", erase)
        memory.erase(user_id=user_id, memory_id=ids[0])
        return erase(user_id, ids)

    monkeypatch.setattr(eraser, "episodes", late)
    assert memory.sleep(user_id="ada", now=day(31)).erased == 2, "the others of three"
    assert said(memory, "ada") == {"Shelf plan of ada."} and memory.verify() == []


def test_one_user_sleeps_alone(open_memory: Open) -> None:
    memory = told(open_memory, user=30)
    assert memory.sleep(user_id="bob", now=day(31)).erased == 1
    assert "Jar 0 of ada is on the shelf." in said(memory, "ada")


def test_deleted_messages_and_documents_have_their_own_days(open_memory: Open, tmp_path: Path) -> None:
    memory = told(open_memory, deleted=7, document=40)
    assert memory.sleep(now=day(28)).erased == 0 and b"4471" in on_disk(tmp_path)
    assert memory.sleep(now=day(29)).erased == 1 and b"4471" not in on_disk(tmp_path)
    assert memory.sleep(now=day(41)).erased == 2
    assert said(memory, "bob") == {"Jar 0 of bob is on the shelf.", "Jar 20 of bob is on the shelf."}
    assert memory.verify() == []


def test_a_restored_message_is_kept(open_memory: Open) -> None:
    memory = told(open_memory, deleted=7)
    (gone,) = memory.add("The shed code is 5519.", user_id="bob", now=day(20))
    memory.delete(gone.id, user_id="bob", now=day(21))
    memory.restore(gone.id, user_id="bob", now=day(22))
    assert memory.sleep(user_id="bob", now=day(60)).erased == 0


@pytest.mark.parametrize(("days", "told"), [({"users": 3}, "neither a role"), ({"user": 0}, "from 1 to")])
def test_wrong_days_are_refused(days: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load_config({"retention": {"days": days}})
