"""The retrieval score of Generative Agents in plain Python, against the library under `papers/generative_agents`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.config import read_toml
from nscma_torch.memory import Memory
from tests.config.papers.presets import FOLDER
from tests.config.papers.scores import NOW, hits_by_equation
from tests.encode.test_rated_importance import RatingTasks


def test_recency_importance_and_relevance(open_memory: Callable[..., Memory], light_proxy: Any) -> None:
    """score = recency + importance + relevance, with recency = 0.995^hours."""
    for hit, cosine, days in hits_by_equation("generative_agents", open_memory, light_proxy):
        expected = 0.995 ** (24 * days) + hit.parts["importance"] + cosine
        assert hit.score == pytest.approx(expected, abs=1e-5)


def test_importance_is_what_a_model_rates(open_memory: Callable[..., Memory], light_proxy: Any) -> None:
    """1 is mundane, 10 is of the highest importance: evenly in [0, 1]."""
    config = read_toml(FOLDER / "generative_agents.toml")
    memory = open_memory("rated.db", config, proxy=light_proxy, tasks=RatingTasks())
    said = {"I brushed my teeth": 1, "We married!!!!!!!!!": 10, "I found a job!!!!!": 6}
    for text in said:
        memory.add(text, user_id="ada", now=NOW)
    memory.flush()
    hits = memory.search("What happened?", user_id="ada", now=NOW, explain=True)
    found = {hit.text: hit.parts["importance"] for hit in hits}
    assert found == pytest.approx({text: (rating - 1) / 9 for text, rating in said.items()})
