"""Conversations over a light memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.controller.controller import Controller

Opener = Callable[..., Controller]


@pytest.fixture
def converse(open_memory: Callable[..., Memory], light_surprise: Any) -> Opener:
    """`converse(engine, **keys of [controller])`: a controller; the same store again where `name` is the same."""

    def open_(
        engine: Any = None,
        *,
        name: str = "store.db",
        config: dict[str, Any] | None = None,
        flush: bool = False,
        tasks: Any = None,
        **keys: Any,
    ) -> Controller:
        sections = {"hierarchy": {"enabled": False}, "gate": {"rule": "everything"}, **(config or {})}
        memory = open_memory(name, {**sections, "controller": keys}, surprise_model=light_surprise, tasks=tasks)
        return Controller(memory, engine, user_id="ada", flush=flush)

    return open_
