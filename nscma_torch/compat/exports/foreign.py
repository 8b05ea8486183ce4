"""Messages from other programs, with the ids they have there.

An export reader yields messages, and an error instead of each unreadable message, so that one invalid conversation
doesn't block the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nscma_torch.compat.exports.speakers import Speaker
from nscma_torch.core.errors import InvalidInputError, MalformedInputError, TimestampError
from nscma_torch.core.records import ROLES, Message
from nscma_torch.text.calendar.timestamps import parse_timestamp


@dataclass(frozen=True, slots=True)
class Foreign:
    """A message from another program. `ids` contains the `user_id`, `agent_id` and `run_id` given in the source, if
    any.

    `faults` describes anything that couldn't be imported. `speaker` is who said it, in a chat between people.
    """

    message: Message
    ids: Mapping[str, Any]
    expires_at: datetime | None = None
    faults: tuple[str, ...] = ()
    speaker: Speaker | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Number of parts of an export, by kind, that are not messages or have no text."""

    counts: Mapping[str, int]

    def __str__(self) -> str:
        return "left out: " + ", ".join(f"{count:,} {kind}" for kind, count in self.counts.items() if count)


Found = Foreign | InvalidInputError | LeftOut


def until_fault(found: Iterator[Found]) -> Iterator[Found]:
    """Yield the items found; an error ends the iteration and is yielded as its last item."""
    try:
        yield from found
    except InvalidInputError as error:
        yield error


def role_of(value: object, otherwise: str = "user") -> str:
    """Return a role used by another program if the same role exists here; otherwise return `otherwise`."""
    return value if isinstance(value, str) and value in ROLES else otherwise


def time_of(value: object) -> datetime | None:
    """Parse a time from another program; None if there is none. Raises `TimestampError` for an invalid time."""
    return None if value in (None, "") else parse_timestamp(value)


def time_in(*values: object) -> tuple[datetime | None, tuple[str, ...]]:
    """Return the first of these values that is a valid time, and the problems with the values before it."""
    faults: list[str] = []
    for value in values:
        try:
            when = time_of(value)
        except TimestampError as error:
            faults.append(str(error))
            continue
        if when is not None:
            return when, tuple(faults)
    return None, tuple(faults)


def listed(value: object) -> list[Any]:
    """Return the value if it is a JSON list, or an empty list for anything else, such as null."""
    return value if isinstance(value, list) else []


def mapping(value: object, what: str) -> Mapping[str, Any]:
    """Return the value if it is a JSON object. Raises `MalformedInputError`, naming `what`, for anything else."""
    if not isinstance(value, Mapping):
        raise MalformedInputError(
            f"{what} is not an object but {type(value).__name__}; is it an export of the given kind?"
        )
    return value


def sequence(value: object, what: str) -> list[Any]:
    """Return the value if it is a JSON list. Raises `MalformedInputError`, naming `what`, for anything else."""
    if not isinstance(value, list):
        raise MalformedInputError(
            f"{what} is not a list but {type(value).__name__}; is it an export of the given kind?"
        )
    return value
