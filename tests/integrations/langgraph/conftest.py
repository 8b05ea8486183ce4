"""LangGraph's stores over light ones of this library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.integrations.langgraph import NscmaStore


@pytest.fixture
def nscma_store(open_memory: Callable[..., Any], light_surprise: Any) -> NscmaStore:
    """A store for many users."""
    return NscmaStore(open_memory(surprise_model=light_surprise))
