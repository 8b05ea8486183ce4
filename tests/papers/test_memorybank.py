"""MemoryBank's forgetting in plain Python, against the library under `papers/memorybank`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import read_toml
from nscma_torch.core.records import Message
from nscma_torch.curator.forgetting import limit, retained, retention
from tests.papers.presets import FOLDER, preset
from tests.papers.scores import NOW


def test_the_curve(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    """R = e^(-t/S), S = 1 at first; each recall adds 1 to S and sets t to 0."""
    section = preset("memorybank").curator
    memory = open_memory("bank.db", read_toml(FOLDER / "memorybank.toml"), surprise_model=light_surprise)
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


def drawn(memory_id: str, seed: int) -> float:
    """Evenly from [0, 1)."""
    return int(hashlib.sha256(f"{seed}:{memory_id}".encode()).hexdigest()[:12], 16) / 16**12


@pytest.mark.parametrize("days", [0.1, 1.0, 2.5])
def test_a_memory_is_retained_with_the_probability_r(days: float) -> None:
    """Of n memories R n are left, within three standard deviations; each for as long as R is above its number."""
    section, n = preset("memorybank").curator, 2000
    r = math.exp(-days / section.initial_strength)
    left = [name for name in map(str, range(n)) if retention(days, section.initial_strength) >= limit(name, section)]
    assert left == [name for name in map(str, range(n)) if r >= drawn(name, section.seed)]
    assert abs(len(left) - r * n) < 3 * math.sqrt(n * r * (1 - r))
    other = section.model_copy(update={"seed": section.seed + 1})
    assert left != [name for name in map(str, range(n)) if r >= limit(name, other)]


def test_forgotten_at_random_and_not_destroyed(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    """At sleep a memory is left where its number is at most R; what is recalled has t = 0 and S = 2 then."""
    config = read_toml(FOLDER / "memorybank.toml") | {"reading": {"model": "none", "facts": "none"}}
    seed = config["curator"]["seed"]
    memory = open_memory("nights.db", config, surprise_model=light_surprise)
    texts = [f"Lanterns hang over pier {i}." for i in range(12)]
    ids = {text: memory.add(text, user_id="kim", timestamp=NOW, now=NOW)[0].id for text in texts}
    (hit,) = memory.search("pier 3", user_id="kim", now=NOW + timedelta(days=0.5), top_k=1)
    reader = open_memory("nights.db", config, surprise_model=light_surprise)  # its searches are never handed on
    for days in (0.9, 0.9, 1.3):
        now = NOW + timedelta(days=days)
        memory.sleep(user_id="kim", now=now)
        r = {text: math.exp(-days) for text in texts} | {hit.text: math.exp(-(days - 0.5) / 2)}
        left = {text for text in texts if r[text] >= drawn(ids[text], seed)}
        assert {found.text for found in reader.search("pier", user_id="kim", now=NOW, top_k=99)} == left
    assert 0 < len(left) < 12 and len(memory.log(user_id="kim")) == 12
    forgetting = [made for made in memory.decisions(user_id="kim") if "drawn for it" in made.reason]
    assert len(forgetting) == 12 - len(left)
    memory.undo(forgetting[0].id, user_id="kim", now=now)
    memory.sleep(user_id="kim", now=now + timedelta(days=50))
    assert len(reader.search("pier", user_id="kim", now=NOW, top_k=99)) == 1, "what was brought back stays"


def test_storage_has_four_layers(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    """Summaries of days and a global one of these; daily insights into personality and a global portrait of these."""
    memory = open_memory("layers.db", read_toml(FOLDER / "memorybank.toml"), surprise_model=light_surprise)
    for days, text in enumerate(
        ("I love sailing on the fjord.", "I enjoy sailing in the rain.", "I sold my old boat.")
    ):
        at = NOW + timedelta(days=days)
        memory.add([Message("user", text, at, "Kim")], user_id="kim", now=at)
    memory.sleep(user_id="kim", now=NOW + timedelta(days=4))
    summaries, overall, insights, portrait = (
        memory.derived(kind, user_id="kim") for kind in ("daily_summary", "global_summary", "daily_insight", "portrait")
    )
    assert [(one.part, len(one.episode_ids)) for one in summaries] == [
        (f"{(NOW + timedelta(days=days)).date()}", 1) for days in range(3)
    ]
    assert {below for one in overall for below in one.derived_ids} <= {one.id for one in summaries}
    assert {below for one in portrait for below in one.derived_ids} == {one.id for one in insights}
    assert len(overall) == 3 and len(insights) == len(portrait) == 2
