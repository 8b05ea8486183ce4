"""A user's messages stay within the limits, whichever process adds them; nothing is stored beyond."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import QuotaError

Open = Callable[..., Memory]
MOST = 12
PROGRAM = """
import sys
from nscma_torch import Memory
from nscma_torch.core.errors import QuotaError

light = {"embedder": {"model": "hash"}, "reading": {"model": "none"}, "limits": {"max_user_messages": %d}}
added = 0
with Memory(sys.argv[1], config=light) as memory:
    for number in range(%d):
        try:
            added += len(memory.add(f"Jar {number} of {sys.argv[2]}.", user_id="ada"))
        except QuotaError:
            continue
print(added)
"""


def test_messages_and_bytes_are_limited_by_user(open_memory: Open) -> None:
    memory = open_memory(config={"limits": {"max_user_messages": 3, "max_user_bytes": 100}})
    first, _ = memory.add(["One.", "Two."], user_id="ada")
    with pytest.raises(QuotaError, match=r"4 messages stored, more than limits\.max_user_messages = 3"):
        memory.add(["Three.", "Four."], user_id="ada")
    with pytest.raises(QuotaError, match=r"111 bytes stored, more than limits\.max_user_bytes = 100"):
        memory.add("é" * 51 + "!", user_id="ada")
    memory.add("Three.", user_id="ada")
    memory.delete(first.id, user_id="ada")
    with pytest.raises(QuotaError):
        memory.add("Four.", user_id="ada")
    memory.erase(user_id="ada", memory_id=first.id)
    memory.add("Four.", user_id="ada")
    memory.add("One of bob.", user_id="bob")
    assert len(memory.get_all(user_id="ada")) == 3 and memory.verify() == []


def test_a_retry_is_not_counted(open_memory: Open) -> None:
    memory = open_memory(config={"limits": {"max_user_messages": 1}})
    for _ in range(2):
        memory.add("One.", user_id="ada", idempotency_key="one")
    assert memory.stats(user_id="ada").messages == 1


def test_four_processes_store_no_more_than_allowed(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    program = PROGRAM % (MOST, MOST)
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(store), str(number)], stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    added = [int(writer.communicate(timeout=120)[0]) for writer in writers]
    assert sum(added) == MOST, added
    with Memory(store, config={"embedder": {"model": "hash"}, "reading": {"model": "none"}}) as memory:
        assert memory.stats(user_id="ada").messages == MOST
