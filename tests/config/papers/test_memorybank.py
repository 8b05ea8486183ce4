"""MemoryBank's forgetting in plain Python, against the library under `papers/memorybank`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from nscma_torch.config import read_toml
from nscma_torch.curator.forgetting import retained
from nscma_torch.memory import Memory
from tests.config.papers.presets import FOLDER, preset
from tests.config.papers.scores import NOW


def test_the_curve(open_memory: Callable[..., Memory], light_proxy: Any) -> None:
    """R = e^(-t/S), S = 1 at first; each recall adds 1 to S and sets t to 0."""
    section = preset("memorybank").curator
    memory = open_memory("bank.db", read_toml(FOLDER / "memorybank.toml"), proxy=light_proxy)
    memory.add("The kettle is in the shed.", user_id="kim", timestamp=NOW, now=NOW)
    (episode,) = memory.log(user_id="kim")
    told = getattr(episode, "episode", episode)
    s, since = 1.0, NOW
    for recalls in range(5):
        for days in (0.0, 0.5, 3.0, 20.0):
            now = since + timedelta(days=days)
            recalled = since if recalls else None
            found = retained(replace(told, accesses=recalls), now, section, recalled)
            assert found == pytest.approx(math.exp(-days / s))
        s, since = s + 1.0, since + timedelta(days=2)


def test_what_is_recalled_outlives_what_is_not(open_memory: Callable[..., Memory], light_proxy: Any) -> None:
    """At sleep, R below the floor is forgotten: after 3 days e^-3 = .0498 without a recall, e^(-2/2) after one."""
    memory = open_memory("nights.db", read_toml(FOLDER / "memorybank.toml"), proxy=light_proxy)
    for text in ("The kettle is in the shed.", "Lanterns hang over the pier."):
        memory.add(text, user_id="kim", timestamp=NOW, now=NOW)
    recalled = memory.search("kettle", user_id="kim", now=NOW + timedelta(days=1), top_k=1)
    assert [hit.text for hit in recalled] == ["The kettle is in the shed."]
    memory.sleep(user_id="kim", now=NOW + timedelta(days=1, hours=1))
    memory.sleep(user_id="kim", now=NOW + timedelta(days=3, hours=1))
    left = memory.search("kettle lanterns", user_id="kim", now=NOW + timedelta(days=3, hours=1))
    assert [hit.text for hit in left] == ["The kettle is in the shed."]
