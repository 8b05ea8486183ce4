"""Items of a benchmark's file: those that can be used, in what order, and the names of those that cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def whole(items: Iterable[Any], keys: Sequence[str], where: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The items that are objects with all of the keys, and what to say of the others, counted from 0."""
    good: list[dict[str, Any]] = []
    malformed: list[str] = []
    for number, item in enumerate(items):
        missing = [key for key in keys if key not in item] if isinstance(item, Mapping) else keys
        if missing:
            malformed.append(f"{where} {number}: no {', '.join(missing)}")
        else:
            good.append(dict(item))
    return good, malformed


def in_turn(numbered: Iterable[tuple[int, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids of samples with their numbers in the benchmark: even and odd ones in turn, and what to say of the others.

    A run takes the half of a sample from the parity of its place, which so is that of its number, whatever else there
    is. There is at most one more of even number than of odd; what is left over of either is left out.
    """
    halves: tuple[list[str], list[str]] = ([], [])
    for number, id in numbered:
        halves[number % 2].append(id)
    even, odd = halves
    count = min(len(even), len(odd))
    pairs = (id for pair in zip(even, odd, strict=False) for id in pair)
    left_over = (*even[count + 1 :], *odd[count:])
    told = tuple(f"{id}: left over, its half has more samples than the other" for id in left_over)
    return (*pairs, *even[count : count + 1]), told
