"""Read messages from many users together, ahead of the jobs that need them.

A job uses only results read from exactly its own input, so it commits the same results with and without this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from nscma_torch.core.records import Extraction, Unit


@dataclass(frozen=True, slots=True)
class Given:
    """A unit to read: the listener that "you" means in it, and the turns before it."""

    unit: Unit
    listener: str
    before: tuple[Unit, ...]


ReadMany = Callable[[Sequence[Given]], Iterable[tuple[Given, Extraction]]]
"""Reads many units, of many users; gives each with what it states, in any order, and leaves out what it cannot read."""


class ReadAhead:
    """Units that were read ahead of their turn, and those being read."""

    def __init__(self, read: ReadMany) -> None:
        self._read = read
        self._coming: Iterator[tuple[Given, Extraction]] = iter(())
        self._expected: set[str] = set()  # ids of units that may still come
        self._kept: dict[str, tuple[Given, Extraction]] = {}

    def holds(self, unit_ids: Iterable[str]) -> bool:
        """Return True if any of these units was read, or is being read."""
        return any(one in self._expected or one in self._kept for one in unit_ids)

    def begin(self, given: Sequence[Given]) -> None:
        """Start reading these units; earlier results that were not taken are dropped."""
        self._kept.clear()
        self._expected = {one.unit.id for one in given}
        self._coming = iter(self._read(given))

    def take(self, given: Sequence[Given]) -> list[Extraction | None]:
        """Return the extraction for each unit; None if it was not read in its current form. Waits for reads in
        progress.
        """
        awaited = {one.unit.id for one in given} & self._expected
        while awaited and (made := next(self._coming, None)) is not None:
            unit_id = made[0].unit.id
            self._kept[unit_id] = made
            self._expected.discard(unit_id)
            awaited.discard(unit_id)
        if awaited:  # there is no more to come
            self._expected.clear()
        taken = [self._kept.pop(one.unit.id, None) for one in given]
        return [None if made is None or made[0] != one else made[1] for one, made in zip(given, taken, strict=True)]
