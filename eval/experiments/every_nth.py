"""Choose each Nth question of each type: the questions of a conversation often have the same order of types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, TypeVar


class Typed(Protocol):
    """A question with its type."""

    @property
    def type(self) -> str: ...


TypedT = TypeVar("TypedT", bound=Typed)


class EveryNth:
    """Chooses questions, and goes on counting from one conversation to the next."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._passed: Counter[str] = Counter()

    def of(self, questions: Iterable[TypedT]) -> list[TypedT]:
        """Return each Nth of each type, beginning with the first."""
        chosen = []
        for question in questions:
            if self._passed[question.type] % self._every == 0:
                chosen.append(question)
            self._passed[question.type] += 1
        return chosen
