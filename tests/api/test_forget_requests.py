"""A message that asks to forget another one hides it, and is no evidence itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from nscma_torch import Memory

USER = "ada"
SECRET = "The landlord gave me the alarm code, it's 8823."
REQUEST = "Please forget that the alarm code is 8823."


@pytest.fixture
def asked(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path / "store.db")
    for day, text in enumerate((SECRET, "I do pottery every Thursday.", REQUEST), start=2):
        memory.add(text, user_id=USER, timestamp=f"2026-03-0{day}T09:00:00Z")
    memory.flush()
    return memory


def test_neither_the_message_nor_the_request_is_evidence(asked: Memory) -> None:
    with asked as memory:
        assert memory.ask("What is the alarm code?", user_id=USER).abstained
        assert [hit.unit.text for hit in memory.search("alarm code", user_id=USER)] == ["I do pottery every Thursday."]
        assert not any("8823" in fact.object for fact in memory.facts(user_id=USER))


def test_the_request_stays_in_the_log_and_can_be_undone(asked: Memory) -> None:
    with asked as memory:
        assert REQUEST in [episode.text for episode in memory.get_all(user_id=USER)]
        (made,) = (one for one in memory.decisions(user_id=USER) if one.action == "ARCHIVE")
        memory.undo(made.id, user_id=USER)
        assert REQUEST in [hit.unit.text for hit in memory.search("alarm code", user_id=USER)]
        assert memory.verify() == []


def test_sleep_does_not_read_the_request(asked: Memory) -> None:
    with asked as memory:
        memory.sleep(user_id=USER)
        memory.reextract(user_id=USER)
        memory.flush()
        assert not any("8823" in fact.object for fact in memory.facts(user_id=USER))
        assert memory.stats(user_id=USER).deferred == 0
