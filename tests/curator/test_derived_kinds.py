"""Every kind of derived text is off by default, and names the tasks that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import DerivedKind, Message
from tests.helpers.telling import day


def test_nothing_is_derived_by_default(memory: Memory) -> None:
    said = [
        Message("user", f"I love running along the harbour, and bought {i} boats?", day(i), "Mel") for i in range(9)
    ]
    list(memory.add_many(said, user_id="ada", now=day(20)))
    assert memory.sleep(user_id="ada", now=day(20)).derived_texts == 0
    assert all(memory.derived(kind, user_id="ada") == [] for kind in get_args(DerivedKind))


class Bare:
    """Language tasks that derive nothing."""

    def extract(self, units: Any, *, listeners: Any, before: Any = ()) -> Any: ...
    def summarize(self, groups: Any) -> Any: ...
    def answer(self, question: Any, hits: Any, *, answerability: Any) -> Any: ...


@pytest.mark.parametrize(
    ("section", "key", "protocol"),
    [
        ("daily", "summaries", "SummaryTasks"),
        ("daily", "portrait", "PortraitTasks"),
        ("insights", "enabled", "InsightTasks"),
        ("reflection", "enabled", "ReflectionTasks"),
    ],
)
def test_missing_tasks_are_named(open_memory: Callable[..., Memory], section: str, key: str, protocol: str) -> None:
    memory = open_memory(config={section: {key: True}}, tasks=Bare())
    memory.add("hello", user_id="ada")
    with pytest.raises(ConfigError, match=rf"{section}\.{key} needs .*{protocol}.*Bare lacks"):
        memory.sleep()
