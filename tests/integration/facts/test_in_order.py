"""What one message, or messages of one time, tell in a row happened in that row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message

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
