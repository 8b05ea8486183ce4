"""A message that asks to forget something hides what told it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Added

NOW = datetime(2026, 4, 1, 10, tzinfo=UTC)
CODE, GATE, REQUEST = "The gate code is 4471.", "The gate is green.", "Please forget what I said about the gate code."
READS = {"reading": {"model": "bundled"}, "standing": {"neighbours": 0}}


def add(memory: Memory, *texts: str, name: str | None = None, day: int = 0) -> list[Added]:
    said = [{"role": "user", "name": name, "content": text} for text in texts]
    at = NOW + timedelta(days=day)
    return memory.add(said, user_id="ada", timestamp=at, now=at)


def tell(memory: Memory, *texts: str, name: str | None = None, day: int = 0) -> list[str]:
    return [added.id for added in add(memory, *texts, name=name, day=day)]


def events(memory: Memory, memory_id: str) -> list[str]:
    return [one.event for one in memory.history(memory_id, user_id="ada")]


def test_what_a_message_asks_to_forget_is_hidden_until_it_is_restored(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(config=READS)
    added = add(memory, CODE, GATE, REQUEST)
    code, gate, request = (one.id for one in added)
    assert [one.hidden for one in added] == [(), (), (code,)]
    hits = memory.search("gate code", user_id="ada", now=NOW + timedelta(days=30))
    assert CODE not in [hit.text for hit in hits]
    *_, deletion = memory.history(code, user_id="ada")
    assert (deletion.event, deletion.reason) == ("DELETE", f"message {request} asks to forget it")
    assert events(memory, gate) == ["ADD"]
    assert memory.restore(code, user_id="ada")


def test_an_older_message_is_searched(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(config=READS)
    code, _ = tell(memory, CODE, "I like tea.")
    tell(memory, "It rained all day.", REQUEST, day=9)
    assert events(memory, code) == ["ADD", "DELETE"]


@pytest.mark.parametrize("config", [{"reading": {"model": "none"}}, {"standing": {"forget_requests": False}}])
def test_without_a_reader_or_if_it_is_off_nothing_is_hidden(
    config: dict[str, object], open_memory: Callable[..., Memory]
) -> None:
    memory = open_memory(config={**READS, **config})
    code, _ = tell(memory, CODE, REQUEST)
    assert events(memory, code) == ["ADD"]


def test_nobody_hides_what_another_said(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(config=READS)
    (code,) = tell(memory, CODE, name="Tom")
    tell(memory, REQUEST, name="Ann")
    assert events(memory, code) == ["ADD"]
