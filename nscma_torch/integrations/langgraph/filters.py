"""Filters for a search: required values for an item's fields, or operators on them.

    {"kind": "note"}                    is equal, at any depth: the named fields in an object, each element in a list
    {"rank": {"$gte": 3, "$lt": 9}}     $eq $ne $gt $gte $lt $lte; all of them hold

Values are compared as in JSON: true doesn't equal 1. A missing field is null. Only numbers are ordered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.text.json_compare import ORDERS, equal, is_number

Condition = Callable[[Any], bool]
_ORDERS = {f"${name}": order for name, order in ORDERS.items()}


def condition_of(filters: Mapping[str, Any] | None) -> Condition:
    """Build the condition for a filter on an item's value. Raises `InvalidInputError` for an unknown operator."""
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInputError(f"a filter must map fields to values, got {type(filters).__name__}")
    return _fields({} if filters is None else filters)


def _fields(wanted: Mapping[str, Any]) -> Condition:
    conditions = {key: _of(value) for key, value in wanted.items()}
    return lambda held: isinstance(held, Mapping) and all(fits(held.get(key)) for key, fits in conditions.items())


def _of(wanted: Any) -> Condition:
    if isinstance(wanted, Mapping):
        if any(isinstance(key, str) and key.startswith("$") for key in wanted):
            tests = [_operator(name, value) for name, value in wanted.items()]
            return lambda held: all(test(held) for test in tests)
        return _fields(wanted)
    if isinstance(wanted, list | tuple):
        parts = [_of(value) for value in wanted]
        return lambda held: (
            isinstance(held, list)
            and len(held) == len(parts)
            and all(fits(value) for fits, value in zip(parts, held, strict=True))
        )
    return lambda held: equal(held, wanted)


def _operator(name: str, wanted: Any) -> Condition:
    if name == "$eq":
        return lambda held: equal(held, wanted)
    if name == "$ne":
        return lambda held: not equal(held, wanted)
    order = _ORDERS.get(name)
    if order is None:
        raise InvalidInputError(f"unknown operator {name!r} in a filter; operators are $eq, $ne, {', '.join(_ORDERS)}")
    if not is_number(wanted):
        raise InvalidInputError(f"the operator {name!r} of a filter takes a number, got {wanted!r}")
    return lambda held: is_number(held) and order(held, wanted)
