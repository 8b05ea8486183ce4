"""Convert the arguments of mem0's `add` to messages to store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nscma_torch.compat.mem0.exceptions import ValidationError
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Message
from nscma_torch.text.calendar.timestamps import parse_timestamp

PROCEDURAL = "procedural_memory"
_INSTRUCTIONS = ("system", "developer")  # roles that tell a model what to do; they are no memories


def as_list(messages: object) -> list[Mapping[str, Any]]:
    """Convert a string, a message or a list of messages to a list. Raises `ValidationError` for anything else."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, Mapping):
        return [messages]
    if not isinstance(messages, list) or any(not isinstance(item, Mapping) for item in messages):
        wrong = messages if not isinstance(messages, list) else next(i for i in messages if not isinstance(i, Mapping))
        raise ValidationError(
            "messages must be str, dict, or list[dict]",
            error_code="VALIDATION_003",
            details={"provided_type": type(wrong).__name__, "valid_types": ["str", "dict", "list[dict]"]},
            suggestion="Convert your input to a string, dictionary, or list of dictionaries.",
        )
    return messages


def to_store(messages: list[Mapping[str, Any]], metadata: Mapping[str, Any]) -> list[Message]:
    """Convert the messages that have text, in order; instructions, images, and tool calls without text are skipped.

    `metadata` is stored with each message. Its `created_at`, which mem0 uses as a memory's date, becomes the message's
    time.
    """
    said = metadata.get("created_at")
    when = None if said is None else parse_timestamp(said)
    kept = {key: value for key, value in metadata.items() if key != "created_at"}
    found = []
    for message in messages:
        role, text = message.get("role"), text_of(message)
        if role in _INSTRUCTIONS or not text.strip():
            continue
        if not isinstance(role, str):
            raise InvalidInputError(f"a message needs a role, such as 'user', got {role!r}")
        name = message.get("name") or None
        found.append(Message("tool" if role == "function" else role, text, when, name, metadata=kept))
    return found


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message: its content if that is a string, or its text parts joined by spaces; "" if there is
    none.
    """
    content = message.get("content")
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, Mapping) and part.get("type") == "text")
        return " ".join(str(part.get("text", "")) for part in parts)
    if content is None or isinstance(content, Mapping):  # a lone image
        return ""
    if not isinstance(content, str):
        raise InvalidInputError(f"the content of a message must be a string or a list, got {type(content).__name__}")
    return content


def transcript(messages: list[Message]) -> str:
    """Format a conversation as one text, one line per message."""
    return "\n".join(f"{message.role}: {message.content}" for message in messages)


def checked_type(memory_type: str | None) -> str | None:
    """Validate a memory type: None or procedural memory. Raises `ValidationError` for any other type."""
    if memory_type not in (None, PROCEDURAL):
        raise ValidationError(
            f"Invalid 'memory_type'. Please pass {PROCEDURAL} to create procedural memories.",
            error_code="VALIDATION_002",
            details={"provided_type": memory_type, "valid_type": PROCEDURAL},
            suggestion=f"Use '{PROCEDURAL}' to create procedural memories.",
        )
    return memory_type
