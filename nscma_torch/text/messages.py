"""Convert the input of `Memory.add` to a list of messages, and check them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from nscma_torch.core.errors import EmptyTextError, InvalidInputError
from nscma_torch.core.records import Message
from nscma_torch.text.calendar.timestamps import parse_timestamp
from nscma_torch.text.files.json_messages import check_message, parse_message

MessagesLike = str | Message | Mapping[str, Any] | Sequence[Message | Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class CheckedMessage:
    """A message that passed the checks for storage, with its metadata as JSON, and the kinds of what was masked."""

    message: Message
    metadata: str
    masked: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Message, masked: tuple[str, ...] = ()) -> CheckedMessage:
        """Check a message; raises the same errors as `check_message`."""
        return cls(message, check_message(message), masked)


def as_messages(
    messages: MessagesLike,
    *,
    metadata: Mapping[str, Any] | None = None,
    timestamp: datetime | None = None,
    idempotency_key: str | None = None,
) -> list[Message]:
    """Convert a string (with role user), a message, an OpenAI-style mapping, or a list of these to messages with
    defaults filled in.

    If there are several messages, each gets `idempotency_key` followed by its number, from 0.

    Raises `InvalidInputError` for anything else, and for an empty list.
    """
    single = isinstance(messages, str | Message | Mapping)
    if not single and (isinstance(messages, bytes | bytearray) or not isinstance(messages, Iterable)):
        raise InvalidInputError(
            f"messages must be a string, a message or a list of these, got {type(messages).__name__}"
        )
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must map names to values, got {type(metadata).__name__}")
    items = [messages] if single else list(messages)  # type: ignore[arg-type]
    if not items:
        raise EmptyTextError("the list of messages is empty")
    batch = [_as_message(item) for item in items]
    return [
        replace(
            message,
            metadata={**(metadata or {}), **message.metadata},
            timestamp=timestamp if message.timestamp is None else message.timestamp,
            idempotency_key=message.idempotency_key or _key(idempotency_key, None if single else i),
        )
        for i, message in enumerate(batch)
    ]


def _as_message(item: object) -> Message:
    if isinstance(item, str):
        return Message("user", item)
    if isinstance(item, Mapping):
        return parse_message(dict(item))
    if not isinstance(item, Message):
        raise InvalidInputError(f"a message must be a string, a Message or a mapping, got {type(item).__name__}")
    if not isinstance(item.metadata, Mapping):
        raise InvalidInputError(f"metadata must map names to values, got {type(item.metadata).__name__}")
    return item if item.timestamp is None else replace(item, timestamp=parse_timestamp(item.timestamp))


def _key(key: str | None, number: int | None) -> str | None:
    return key if key is None or number is None else f"{key}:{number}"
