"""A message of another program, with what that program says of whose it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nscma_torch.errors import MalformedInputError
from nscma_torch.records import ROLES, Message
from nscma_torch.text.timestamps import parse_timestamp


@dataclass(frozen=True, slots=True)
class Foreign:
    """`ids` are those that the source names (user_id, agent_id, run_id), none where it knows nobody."""

    message: Message
    ids: Mapping[str, Any]
    expires_at: datetime | None = None


def role_of(value: object, otherwise: str = "user") -> str:
    """A role of another program, if it is one here too."""
    return value if isinstance(value, str) and value in ROLES else otherwise


def time_of(value: object) -> datetime | None:
    """A time of another program; None where there is none. Raises `TimestampError` for what is no time."""
    return None if value in (None, "") else parse_timestamp(value)


def mapping(value: object, what: str) -> Mapping[str, Any]:
    """A JSON object. Raises `MalformedInputError` naming what should have been one."""
    if not isinstance(value, Mapping):
        raise MalformedInputError(f"{what} is not an object but {type(value).__name__}; is it the export of that kind?")
    return value


def sequence(value: object, what: str) -> list[Any]:
    """A JSON list. Raises `MalformedInputError` naming what should have been one."""
    if not isinstance(value, list):
        raise MalformedInputError(f"{what} is not a list but {type(value).__name__}; is it the export of that kind?")
    return value
