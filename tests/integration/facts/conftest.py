"""Memories whose messages state what their notation says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from tests.helpers.noting import opener

Open = Callable[..., Memory]


@pytest.fixture
def noted(open_memory: Open, light_surprise: Any) -> Open:
    return opener(open_memory, light_surprise)


@pytest.fixture
def memory(noted: Open) -> Memory:
    return noted()
