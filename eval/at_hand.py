"""What one system made of the sample at hand, kept for the others that would make the same of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


class AtHand:
    """Keeps things by what they were made from, while one sample is worked on; at other times nothing."""

    def __init__(self) -> None:
        self._kept: list[tuple[object, Any]] = []
        self._open: ExitStack | None = None

    @contextmanager
    def sample(self) -> Iterator[None]:
        """A block about one sample: what is kept in it is closed at its end, the latest first."""
        with ExitStack() as self._open:
            try:
                yield
            finally:
                self._open, self._kept = None, []

    def find(self, key: object) -> Any | None:
        """What was made from an equal key, if it is kept."""
        return next((thing for known, thing in self._kept if known == key), None)

    def keep(self, key: object, thing: Any, closing: ExitStack) -> None:
        """Keep a thing, and take over what closes it; outside of a sample both stay with the caller."""
        if self._open is not None:
            self._open.push(closing.pop_all())
            self._kept.append((key, thing))
