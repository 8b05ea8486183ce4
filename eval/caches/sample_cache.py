"""What one system made of the sample at hand, kept for the others that would make the same of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class AtHand:
    """Keeps things by what they were made from, while one sample is worked on; at other times nothing."""

    def __init__(self) -> None:
        self._kept: list[tuple[object, Any]] | None = None

    @contextmanager
    def sample(self) -> Iterator[None]:
        """A block about one sample."""
        self._kept = []
        try:
            yield
        finally:
            self._kept = None

    def find(self, key: object) -> Any | None:
        """What was made from an equal key, if it is kept."""
        return next((thing for known, thing in self._kept or () if known == key), None)

    def keep(self, key: object, thing: Any) -> None:
        """Keep a thing to the end of the sample."""
        if self._kept is not None:
            self._kept.append((key, thing))
