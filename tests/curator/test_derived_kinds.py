"""Every kind of derived text is off by default, and names the tasks that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, get_args

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import checked_kinds
from nscma_torch.core.config import load_config
from nscma_torch.core.derived_kinds import DERIVED_KINDS, is_derived
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import DerivedKind, Message
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
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
    def answer(self, question: Any, hits: Any) -> Any: ...


@pytest.mark.parametrize(
    ("section", "key", "protocol"),
    [
        ("daily", "summaries", "LineTasks"),
        ("daily", "portrait", "LineTasks"),
        ("insights", "enabled", "LineTasks"),
        ("reflection", "enabled", "ReflectionTasks"),
    ],
)
def test_missing_tasks_are_named(open_memory: Callable[..., Memory], section: str, key: str, protocol: str) -> None:
    memory = open_memory(config={section: {key: True}}, tasks=Bare())
    memory.add("hello", user_id="ada")
    with pytest.raises(ConfigError, match=rf"{section}\.{key} needs .*{protocol}.*Bare doesn't"):
        memory.sleep()


def test_every_kind_has_a_file_and_a_key_and_a_search_may_name_it(memory: Memory) -> None:
    for kind in DERIVED_KINDS:
        assert callable(import_module(f"nscma_torch.curator.derived.{kind}").deriver)
        assert not is_derived(memory.config, kind), kind
        assert checked_kinds([kind]) == (kind,)
        remedy = f"(set {DERIVED_KINDS[kind]}|add it to {DERIVED_KINDS[kind]})"
        with pytest.raises(ConfigError, match=f"names '{kind}', which is disabled: {remedy}"):
            load_config({"retrieval": {"kinds": [kind]}})


def test_a_line_task_without_a_rule_needs_a_language_model() -> None:
    with pytest.raises(ConfigError, match=r"texts of kind 'haiku' need a language model: set llm\.engine"):
        EmbeddedTasks().lines("haiku", [])
