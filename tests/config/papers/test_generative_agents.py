"""The retrieval score of Generative Agents in plain Python, against the library under `papers/generative_agents`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.memory import Memory
from tests.config.papers.scores import hits_by_equation


def test_recency_importance_and_relevance(open_memory: Callable[..., Memory], light_proxy: Any) -> None:
    """score = recency + importance + relevance, with recency = 0.995^hours."""
    for hit, cosine, days in hits_by_equation("generative_agents", open_memory, light_proxy):
        expected = 0.995 ** (24 * days) + hit.parts["importance"] + cosine
        assert hit.score == pytest.approx(expected, abs=1e-5)
