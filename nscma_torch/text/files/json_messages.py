"""Parse OpenAI-style messages from JSON and JSON lines.

A message is `{"role", "content", "timestamp"?, "name"?, "session"?}`. `content` is a string, or a list of parts, which
are joined by newlines; a part that isn't text becomes its type in brackets, as in "[image_url]". A tool call without
text becomes "name(arguments)". An `idempotency_key` is used as such; all other keys are stored as metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO, NoReturn

from nscma_torch.core.errors import (
    EmptyTextError,
    EncodingError,
    InvalidInputError,
    MalformedInputError,
    TextTooLargeError,
    TimestampError,
)
from nscma_torch.core.records import ROLES, Message
from nscma_torch.text.calendar.timestamps import parse_timestamp
from nscma_torch.text.files.decoding import decode
from nscma_torch.text.surrogates import refuse_surrogates

_FIELDS = frozenset({"role", "content", "timestamp", "name", "session", "metadata", "idempotency_key"})
_EXAMPLE = '{"role": "user", "content": "…"}'
_LONGEST_KEY = 400  # characters; an index of PostgreSQL holds 2,704 bytes, with the user id
_DEEPEST = 64  # levels of metadata: every reader of the store can follow them
_NESTED = (Mapping, list, tuple)
_ESCAPED_BYTES = 6  # the longest JSON escape of one byte of text
_ENVELOPE_BYTES = 1 << 16  # of a line, for all that is not its content


def lines_of(stream: BinaryIO, max_message_bytes: int) -> Iterator[bytes]:
    """Yield the lines in a file, reading at most one byte more than the longest allowed line at a time."""
    return iter(partial(stream.readline, longest_line(max_message_bytes) + 1), b"")


def json_line_messages(
    lines: Iterable[bytes], max_message_bytes: int, *, before: int = 0
) -> Iterator[tuple[int, Message]]:
    """Yield the line number (from 1, after `before` lines) and the message for each non-blank line."""
    for number, value in json_line_values(lines, max_message_bytes, before=before):
        yield number, _message(value, f"line {number}", number, max_message_bytes)


def json_line_values(lines: Iterable[bytes], max_message_bytes: int, *, before: int = 0) -> Iterator[tuple[int, Any]]:
    """Yield the line number and the JSON value, of any type, for each non-blank line."""
    limit = longest_line(max_message_bytes)
    offset = 0
    for number, raw in enumerate(lines, before + 1):
        if len(raw) > limit:
            raise TextTooLargeError(
                f"line {number}: more than {limit} bytes, but limits.max_message_bytes is {max_message_bytes}; "
                "write one message per line, and split this one"
            )
        line = decode(raw, offset, number)
        offset += len(raw)
        if line.strip():
            yield number, _parsed(line, number)


def longest_line(max_message_bytes: int) -> int:
    """Return the maximum bytes in a line that contains one message."""
    return _ESCAPED_BYTES * max_message_bytes + _ENVELOPE_BYTES


def json_messages(text: str, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the position (from 1) and the message for each element in a list of messages, or in {"messages": [...]}."""
    if not text.strip():
        return
    value = _parsed(text, None)
    if isinstance(value, dict):
        value = value.get("messages")
    if not isinstance(value, list):
        raise MalformedInputError('a JSON file must be a list of messages, or {"messages": [...]}')
    for position, element in enumerate(value, start=1):
        yield position, _message(element, f"message {position}", None, max_message_bytes)


def _parsed(text: str, line: int | None) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        where = error.lineno if line is None else line
        raise MalformedInputError(f"not JSON: {error.msg} at column {error.colno}", line=where) from error
    except (ValueError, RecursionError) as error:  # NaN, a number of thousands of digits, thousands of open brackets
        raise MalformedInputError(f"not JSON: {error}", line=line) from error


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _message(value: Any, where: str, line: int | None, max_message_bytes: int) -> Message:
    """Convert a parsed JSON value to a message; `where` gives its position in errors."""
    try:
        message = parse_message(value)
        check_message(message)
    except (TimestampError, EncodingError) as error:
        raise type(error)(f"{where}: {error}") from error
    except InvalidInputError as error:
        raise MalformedInputError(str(error) if line else f"{where}: {error}", line=line) from error
    size = len(message.content.encode())
    if size > max_message_bytes:
        raise TextTooLargeError(
            f"{where}: {size} bytes, but limits.max_message_bytes is {max_message_bytes}; split the message"
        )
    return message


def parse_message(value: object) -> Message:
    """Convert a mapping in the format above to a message; `check_message` checks whether it can be stored.

    Raises `InvalidInputError` for a missing key or a wrong type, or `TimestampError`.
    """
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"a message must be an object such as {_EXAMPLE}, got {_kind(value)}")
    for key in ("role", "content"):
        if key not in value:
            raise InvalidInputError(f'no "{key}"; a message looks like {_EXAMPLE}')
    metadata = value.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be an object, got {_kind(metadata)}")
    timestamp = value.get("timestamp")
    return Message(
        role=value["role"],
        content=_text(value["content"], value.get("tool_calls")),
        timestamp=None if timestamp is None else parse_timestamp(timestamp),
        name=label("name", value.get("name")),
        session=label("session", value.get("session")),
        metadata={**metadata, **{str(key): item for key, item in value.items() if key not in _FIELDS}},
        idempotency_key=label("idempotency_key", value.get("idempotency_key")),
    )


def check_message(message: Message) -> str:
    """Check that a message can be stored; return its metadata as JSON.

    Raises `InvalidInputError` for an unknown role, a non-text field or metadata that is not JSON-serialisable,
    `EmptyTextError` for an empty text, or `EncodingError` for a lone surrogate.
    """
    if message.role not in ROLES:
        raise InvalidInputError(f"role must be one of {', '.join(ROLES)}, got {str(message.role)[:40]!r}")
    if not isinstance(message.content, str):
        raise InvalidInputError(f"content must be a string, got {_kind(message.content)}")
    if not message.content.strip():
        raise EmptyTextError("content is empty or only whitespace; omit the message")
    for key in ("content", "name", "session", "source", "idempotency_key"):
        value = getattr(message, key)
        if value is not None and not isinstance(value, str):
            raise InvalidInputError(f"{key} must be a string, got {_kind(value)}")
        refuse_surrogates(value, key)
    if len(message.idempotency_key or "") > _LONGEST_KEY:
        raise InvalidInputError(f"idempotency_key has more than {_LONGEST_KEY} characters; pass a hash instead")
    return metadata_json(message.metadata)


def metadata_json(metadata: Mapping[str, Any]) -> str:
    """Serialise metadata as JSON, with sorted keys.

    Raises `EncodingError` for a lone surrogate, `InvalidInputError` for anything else that is not JSON-serialisable.
    """
    refuse_surrogates(metadata, "metadata")
    try:
        text = json.dumps(dict(metadata), sort_keys=True, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"metadata must be JSON-serialisable, with strings as keys: {error}") from error
    level: list[Any] = [metadata]
    depth = 0
    while level:
        if depth > _DEEPEST:
            raise InvalidInputError(f"metadata is nested deeper than {_DEEPEST} levels; flatten it")
        for value in level:
            if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
                raise InvalidInputError("metadata contains a number larger than 64 bits; write it as a string")
        inner = (one.values() if isinstance(one, Mapping) else one for one in level if isinstance(one, _NESTED))
        level, depth = [value for values in inner for value in values], depth + 1
    return text


def _text(content: Any, tool_calls: Any) -> str:
    if isinstance(content, list):
        content = "\n".join(_part(part) for part in content)
    if content is None or (content == "" and tool_calls):
        content = "\n".join(_call(call) for call in tool_calls) if isinstance(tool_calls, list) else ""
    if not isinstance(content, str):
        raise InvalidInputError(f"content must be a string or a list of parts, got {_kind(content)}")
    return content


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text", part.get("refusal")) if isinstance(part, dict) else None
    if isinstance(text, str):
        return text
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise InvalidInputError(f'a part of content must look like {{"type": "text", "text": "…"}}, got {_kind(part)}')
    return f"[{part['type']}]"


def _call(call: Any) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InvalidInputError('a tool call must look like {"function": {"name": "…", "arguments": "…"}}')
    return f"{function['name']}({function.get('arguments', '')})"


def label(key: str, value: Any) -> str | None:
    """Convert a name or id from JSON (a string or a number) to text; None stays None. Raises `InvalidInputError` for
    any other type.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, str):
        return value or None
    raise InvalidInputError(f"{key} must be a string, got {_kind(value)}")


def _kind(value: Any) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")
