"""Components are made once, whoever asks first."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from nscma_torch.core.locked_property import locked_cached_property


class Components:
    """Components that take a moment, and ask for each other."""

    def __init__(self) -> None:
        self.build_lock = threading.RLock()
        self.made: list[str] = []

    @locked_cached_property
    def model(self) -> object:
        """A model."""
        time.sleep(0.02)
        self.made.append("model")
        return object()

    @locked_cached_property
    def index(self) -> tuple[object]:
        self.made.append("index")
        return (self.model,)


def test_threads_share_what_one_of_them_makes() -> None:
    parts, together = Components(), threading.Barrier(8)

    def ask(_: int) -> object:
        together.wait()
        return parts.index[0]

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(ask, range(8)))
    assert found == {parts.model} and sorted(parts.made) == ["index", "model"]
    assert Components().model is not parts.model


def test_what_failed_is_tried_again_and_what_is_set_stands_in() -> None:
    class Failing(Components):
        @locked_cached_property
        def model(self) -> object:
            self.made.append("model")
            raise ValueError("no such file")

    parts = Failing()
    for _ in range(2):
        with pytest.raises(ValueError, match="no such file"):
            assert parts.model
    assert parts.made == ["model", "model"]
    vars(parts)["model"] = own = object()
    assert parts.index == (own,)
    assert Components.model.__doc__ == "A model."
