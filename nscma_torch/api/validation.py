"""Validate the arguments of `Memory`: scopes and filters, limits, times."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, get_args

from nscma_torch.core.config import LimitsConfig
from nscma_torch.core.errors import EmptyTextError, InvalidInputError, ScopeError, TextTooLargeError, TimestampError
from nscma_torch.core.records import MemoryType, Message, RecordFilter, Resolution, Scope, Sentiment, UnitKind
from nscma_torch.redaction.redactor import Redactor
from nscma_torch.text.calendar.timestamps import parse_timestamp
from nscma_torch.text.messages import CheckedMessage
from nscma_torch.text.names import name_key
from nscma_torch.text.surrogates import refuse_surrogates

T = TypeVar("T")
_MOST_IDS = 30_000  # SQLite takes 32,766 variables


def narrowed(filters: Mapping[str, Any] | None, **ids: str | None) -> tuple[Scope, dict[str, Any]]:
    """Combine a read's arguments with those inside `filters`; return its scope and the metadata to match."""
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInputError(f"filters must map names to values, got {type(filters).__name__}")
    refuse_surrogates(filters, "filters")
    wanted = dict(filters or {})
    for name, value in ids.items():
        inside = wanted.pop(name, value)
        if value is not None and inside != value:
            raise ScopeError(f"{name} is {value!r}, but {inside!r} inside filters; give only one of them")
        ids[name] = inside
    return Scope(ids["user_id"] or "", ids["agent_id"], ids["run_id"]), wanted


def checked_user(user_id: str | None) -> str | None:
    """Validate a user id; None means all users. Raises `ScopeError` for an invalid id."""
    return None if user_id is None else Scope(user_id).user_id


def checked_limit(limit: int | None) -> int | None:
    """Validate a maximum number of results; None means all. Raises `InvalidInputError` for anything but an integer of
    at least 1.
    """
    return None if limit is None else checked_count(limit, "limit", "an integer of at least 1, or None for all")


def checked_count(value: int, name: str = "top_k", wanted: str = "an integer of at least 1") -> int:
    """Validate a number of results. Raises `InvalidInputError` for anything but an integer from 1 to `sys.maxsize`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(f"{name} is {value!r}; it must be {wanted}")
    if value > sys.maxsize:  # SQLite's integers end there, and so do those of `islice`
        raise InvalidInputError(f"{name} is {value!r}; it must be at most {sys.maxsize}")
    return value


def checked_text(value: str, name: str) -> str:
    """Validate that a text is not blank.

    Raises `EmptyTextError` if it is, `EncodingError` for a lone surrogate, `InvalidInputError` for other types.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a string, got {type(value).__name__}")
    refuse_surrogates(value, name)
    if not value.strip():
        raise EmptyTextError(f"{name} is empty; give some text")
    return value


def checked_question(value: str, name: str, limits: LimitsConfig) -> str:
    """Validate a question or query like `checked_text`. Raises `TextTooLargeError` if it is too long."""
    if len(checked_text(value, name)) > limits.max_question_characters:
        raise TextTooLargeError(
            f"{name} has {len(value):,} characters, more than limits.max_question_characters = "
            f"{limits.max_question_characters:,}; shorten it, store long texts with `add`, or raise the limit"
        )
    return value


def checked_number(value: float, name: str) -> float:
    """Validate that a number is finite. Raises `InvalidInputError` otherwise."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise InvalidInputError(f"{name} is {value!r}; it must be a finite number")
    return value


def checked_kinds(kinds: Sequence[UnitKind]) -> Sequence[UnitKind]:
    """Validate a list of unit kinds. Raises `InvalidInputError` for a string, an empty list, or an unknown kind."""
    known = get_args(UnitKind)
    if isinstance(kinds, str) or not isinstance(kinds, Iterable) or not (found := tuple(kinds)):
        raise InvalidInputError(f"kinds is {kinds!r}; it must be a list of some of {', '.join(known)}")
    for kind in found:
        if kind not in known:
            raise InvalidInputError(f"unknown kind {kind!r}; kinds are {', '.join(known)}")
    return found


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "type": get_args(MemoryType),
    "sentiment": get_args(Sentiment),
    "resolution": get_args(Resolution),
}


def checked_record(wanted: Mapping[str, Any] | None) -> RecordFilter | None:
    """Parse a filter on structured records from a mapping; None stays None.

    The keys are `type`, `sentiment` and `resolution` (each with a value or a list of values), `entity` (a name) and
    `importance` (the minimum).

    Raises `InvalidInputError` for another key or value.
    """
    if wanted is None:
        return None
    keys = (*_CHOICES, "entity", "importance")
    refuse_surrogates(wanted, "record")
    if not isinstance(wanted, Mapping) or not wanted or not set(wanted) <= set(keys):
        raise InvalidInputError(f"record is {wanted!r}; it must map one or more of {', '.join(keys)} to values")
    chosen: dict[str, tuple[Any, ...]] = {}
    for key, known in _CHOICES.items():
        value = wanted.get(key, ())
        chosen[f"{key}s"] = values = (value,) if isinstance(value, str) else tuple(value)
        if key in wanted and not (values and set(values) <= set(known)):
            raise InvalidInputError(f"record has the {key} {value!r}; it must be one or more of {', '.join(known)}")
    entity, importance = wanted.get("entity"), checked_number(wanted.get("importance", 0.0), "importance")
    if entity is not None and not (isinstance(entity, str) and name_key(entity)):
        raise InvalidInputError(f"record has the entity {entity!r}; it must be a name")
    if not 0 <= importance <= 1:
        raise InvalidInputError(f"record has the importance {importance!r}; it must be the minimum, from 0 to 1")
    return RecordFilter(**chosen, entity=entity, importance=importance)


def checked_flag(value: bool, name: str) -> bool:
    """Validate a boolean. Raises `InvalidInputError` for anything but True and False."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} is {value!r}; it must be True or False")
    return value


def checked_instance(value: T, kind: type, name: str) -> T:
    """Validate that a value is an instance of a class or runtime-checkable protocol. Raises `InvalidInputError`
    otherwise.
    """
    if not isinstance(value, kind):
        raise InvalidInputError(f"{name} must be of type {kind.__name__}, got {type(value).__name__}")
    return value


def checked_stream(values: Iterable[T], name: str) -> Iterator[T]:
    """Yield the values. Raises `InvalidInputError` for a single string, or if they can't be iterated."""
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{name}, got {type(values).__name__}")
    return iter(values)


def checked_ids(ids: Sequence[str], name: str) -> list[str]:
    """Validate a list of ids. Raises `InvalidInputError` for anything else, or for more ids than a query may have."""
    found = list(checked_stream(ids, f"{name} must be a list of ids"))
    if not all(isinstance(one, str) for one in found):
        raise InvalidInputError(f"{name} must be a list of ids, each a string")
    if len(found) > _MOST_IDS:
        raise InvalidInputError(f"{name} has {len(found):,} ids; at most {_MOST_IDS:,} are looked up at once")
    return found


def checked_message(
    message: Message, limits: LimitsConfig, now: datetime, redactor: Redactor | None = None
) -> CheckedMessage:
    """Validate a message for storage, and mask what the redactor finds. Raises `InvalidInputError` if it is empty, too
    large, or dated in the future.
    """
    checked = CheckedMessage.of(message)
    size = len(message.content.encode())
    if size > limits.max_message_bytes:
        raise TextTooLargeError(
            f"a message has {size:,} bytes, more than limits.max_message_bytes = {limits.max_message_bytes:,}; "
            "split it, add it as a document (.txt, .md), or raise the limit"
        )
    beside = {name: getattr(message, name) or "" for name in ("name", "session", "source")}
    for name, value in {**beside, "metadata": checked.metadata}.items():
        if len(value.encode()) > limits.max_message_bytes:
            raise TextTooLargeError(
                f"the {name} of a message is larger than limits.max_message_bytes = {limits.max_message_bytes:,}; "
                "shorten it, or move it to the content"
            )
    if message.timestamp is not None and message.timestamp - now > timedelta(seconds=limits.max_clock_skew):
        raise TimestampError(f"the timestamp {message.timestamp.isoformat()} is in the future (now: {now.isoformat()})")
    if redactor is None or not (masked := redactor.message(message)).kinds:
        return checked
    return CheckedMessage.of(masked.message, masked.kinds)


_FIRST_CLOCK = datetime(1970, 1, 1, tzinfo=UTC)


def clock(now: datetime | None) -> datetime:
    """Return `now`, or the current time if it is None, in UTC. Raises `TimestampError` for a time before 1970."""
    found = datetime.now(UTC) if now is None else parse_timestamp(now)
    if found < _FIRST_CLOCK:
        raise TimestampError(f"now is {found.isoformat()}, before 1970; set this machine's clock, or pass another now")
    return found
