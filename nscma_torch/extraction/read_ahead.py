"""Messages of many users read together, before the jobs that wait for what they state.

A job uses only what was read from exactly what it finds itself, so that it commits the same with and without this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from nscma_torch.core.records import Extraction, Unit


@dataclass(frozen=True, slots=True)
class Given:
    """A unit that is to be read: whom its "you" means, and the turns before it."""

    unit: Unit
    listener: str
    before: tuple[Unit, ...]


ReadMany = Callable[[Sequence[Given]], Iterable[tuple[Given, Extraction]]]
"""Reads many units, of many users; gives each with what it states, in any order, and leaves out what it cannot read."""


class ReadAhead:
    """Units read ahead of their turn, and those being read."""

    def __init__(self, read: ReadMany) -> None:
        self._read = read
        self._coming: Iterator[tuple[Given, Extraction]] = iter(())
        self._expected: set[str] = set()  # ids of units that may still come
        self._kept: dict[str, tuple[Given, Extraction]] = {}

    def holds(self, unit_ids: Iterable[str]) -> bool:
        """Return True if any of these units was read, or is about to be."""
        return any(one in self._expected or one in self._kept for one in unit_ids)

    def begin(self, given: Sequence[Given]) -> None:
        """Have these read next; what was read before and not asked for is let go of."""
        self._kept.clear()
        self._expected = {one.unit.id for one in given}
        self._coming = iter(self._read(given))

    def take(self, given: Sequence[Given]) -> list[Extraction | None]:
        """Return each unit's statements; None if it was not read, or not in its current form. Waits for those in
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
