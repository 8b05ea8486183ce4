"""Extraction in which the model reads the first messages only, to bound a run's time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nscma_torch.core.records import Extraction, Unit
from nscma_torch.reading.embedded_tasks import EmbeddedTasks


class FirstByModel:
    """`SureExtraction` that leaves the first `most` units to the model and reads the others with the networks.

    `messages` are the ids of the messages left to the model.
    """

    def __init__(self, most: int, embedded: Callable[[], EmbeddedTasks]) -> None:
        self._most = most
        self._embedded = embedded
        self._chosen: set[str] = set()
        self.messages: set[str] = set()

    def __call__(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]]
    ) -> list[Extraction | None]:
        """Return an extraction for each unit, or None for a unit left to the model, also when it is read again."""
        for unit in units:
            if len(self._chosen) < self._most:
                self._chosen.add(unit.id)
                self.messages.update(unit.episode_ids)
        rest = [i for i, unit in enumerate(units) if unit.id not in self._chosen]
        found: list[Extraction | None] = [None] * len(units)
        if rest:
            contexts = [before[i] for i in rest] if before else ()
            read = self._embedded().extract(
                [units[i] for i in rest], listeners=[listeners[i] for i in rest], before=contexts
            )
            for i, extraction in zip(rest, read, strict=True):
                found[i] = extraction
        return found
