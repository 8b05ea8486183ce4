"""Items of a benchmark's file that can be used, and the names of those that cannot."""

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
