"""Parse mem0's metadata filters into a condition on a memory's fields.

    {"category": "work"}                      is equal; a list: is in the list; "*": exists and isn't None {"rank":
    {"gte": 3, "lt": 9}}             eq ne in nin gt gte lt lte contains icontains; all of them hold {"AND": [...],
    "OR": [...], "NOT": [...]} of filters like these, at any depth; NOT: none of them holds

In mem0, each vector store interprets filters differently. Here, a missing field matches no operator. If a field is a
list, eq, in, contains and the order operators match if they match any element; ne and nin match if they match all
elements. Numbers are compared with numbers, and times (ISO 8601 strings) with times; everything else is unordered. True
doesn't equal 1. `contains` applies to strings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from nscma_torch.core.errors import InvalidInputError, TimestampError
from nscma_torch.text.calendar.timestamps import parse_timestamp
from nscma_torch.text.json_compare import ORDERS, equal, is_number

Condition = Callable[[Mapping[str, Any]], bool]  # of a memory's fields
_Test = Callable[[Any], bool]  # of one value


def condition_of(filters: Mapping[str, Any]) -> Condition:
    """Build the condition for a filter. Raises `InvalidInputError` for an unknown operator or an invalid form."""
    conditions = [_of_key(key, value) for key, value in filters.items()]
    return lambda fields: all(condition(fields) for condition in conditions)


def _of_key(key: str, value: Any) -> Condition:
    if key in ("AND", "OR", "NOT"):
        inner = _inner(key, value)
        if key == "AND":
            return lambda fields: all(condition(fields) for condition in inner)
        if key == "OR":
            return lambda fields: any(condition(fields) for condition in inner)
        return lambda fields: not any(condition(fields) for condition in inner)
    if isinstance(value, Mapping):
        tests = [_operator(key, name, wanted) for name, wanted in value.items()]
        if not tests:
            raise InvalidInputError(f"the filter of {key!r} is empty; write {{{key!r}: {{'eq': value}}}}")
    elif value == "*" and isinstance(value, str):
        tests = [lambda _: True]
    else:
        tests = [_operator(key, "in" if isinstance(value, list) else "eq", value)]
    return lambda fields: fields.get(key) is not None and all(test(fields[key]) for test in tests)


def _inner(key: str, value: Any) -> list[Condition]:
    if not isinstance(value, list) or not (value or key == "AND"):
        raise InvalidInputError(f"{key} operator requires a {'' if key == 'AND' else 'non-empty '}list of conditions")
    if any(not isinstance(item, Mapping) for item in value):
        raise InvalidInputError(f"{key} operator requires a list of conditions, each a dict of filters")
    return [condition_of(item) for item in value]


def _operator(key: str, name: str, wanted: Any) -> _Test:
    if name in ("in", "nin"):
        if not isinstance(wanted, list | tuple):
            raise InvalidInputError(f"the operator {name!r} of {key!r} takes a list, got {type(wanted).__name__}")
        among = _one_of(wanted)
        return _any(among) if name == "in" else lambda held: not _any(among)(held)
    if name in ("eq", "ne"):
        equal = _one_of([wanted])
        return _any(equal) if name == "eq" else lambda held: not _any(equal)(held)
    if name in ORDERS:
        return _any(lambda held: _ordered(ORDERS[name], held, wanted))
    if name in ("contains", "icontains"):
        if not isinstance(wanted, str):
            raise InvalidInputError(f"the operator {name!r} of {key!r} takes a string, got {type(wanted).__name__}")
        if name == "contains":
            return _any(lambda held: isinstance(held, str) and wanted in held)
        return _any(lambda held: isinstance(held, str) and wanted.casefold() in held.casefold())
    raise InvalidInputError(f"Unsupported metadata filter operator: {name}")


def _any(test: _Test) -> _Test:
    """Return a test that applies the given test to a value, or to a list and each of its elements."""
    return lambda held: test(held) or (isinstance(held, list) and any(test(element) for element in held))


def _one_of(wanted: Sequence[Any]) -> _Test:
    return lambda held: any(equal(held, value) for value in wanted)


def _ordered(compare: Callable[[Any, Any], bool], held: Any, wanted: Any) -> bool:
    if is_number(held) and is_number(wanted):
        return compare(held, wanted)
    one, other = _time(held), _time(wanted)
    return one is not None and other is not None and compare(one, other)


def _time(value: Any) -> datetime | None:
    """Parse a string as a time; None if it isn't one."""
    if not isinstance(value, str):
        return None
    try:
        return parse_timestamp(value)
    except TimestampError:
        return None
