"""Compare JSON values for the filters in search, LangGraph and mem0: true doesn't equal 1."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

ORDERS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
)


def equal(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal at every depth."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def is_number(value: Any) -> bool:
    """Return True if a JSON value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
