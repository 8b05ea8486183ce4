"""mem0's names over a light store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nscma_torch.api import memory as nscma
from nscma_torch.compat.mem0 import Memory


@pytest.fixture
def m(open_memory: Callable[..., nscma.Memory], light_surprise) -> Memory:
    return Memory.over(open_memory(surprise_model=light_surprise))
