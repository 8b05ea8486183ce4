"""A store with two messages, and a check that an error leaves it as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import NscmaError

Contents = Callable[[Path], dict[str, list[Any]]]
NOW = datetime(2024, 9, 1, tzinfo=UTC)


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.add(["I moved to Porto in March.", "ok"], user_id="ada", now=NOW)
    return memory


@pytest.fixture
def untouched(filled: Memory, contents: Contents, tmp_path: Path) -> Iterator[Any]:
    """`with untouched(Error, match=…)`: the block raises this error and leaves every row of the store as it was.

    At the end of the test the store must be sound, what it keeps in memory too.
    """

    @contextmanager
    def check(kind: type[NscmaError], match: str | None = None) -> Iterator[None]:
        before = contents(tmp_path / "store.db")
        with pytest.raises(kind, match=match) as caught:
            yield
        assert type(caught.value) is kind
        assert contents(tmp_path / "store.db") == before

    yield check
    assert filled.verify() == []
