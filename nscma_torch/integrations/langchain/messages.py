"""Convert LangChain messages to stored messages, and back without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, message_chunk_to_message
from langchain_core.messages import messages_from_dict as from_dicts
from pydantic_core import PydanticSerializationError

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import ROLES, Episode, Message

FIELD = "langchain"  # of a message's metadata: what its text does not say
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_NO_TEXT = "[no text]"


def to_store(message: BaseMessage, session: str) -> Message:
    """Convert a message for storage, with its text and everything needed to restore it.

    Parts without text become their type in brackets; a tool call without text becomes "name(arguments)". Raises
    `InvalidInputError` for anything but a conversation message.
    """
    if not isinstance(message, BaseMessage) or message.type == "remove":
        raise InvalidInputError(f"a chat history takes LangChain messages, got {type(message).__name__}")
    whole, text = _as_json(message_chunk_to_message(message)), _text(message)
    content = {} if message.content == text else {"content": whole["content"]}
    kept = {name: value for name, value in whole.items() if name != "content" and value not in (None, [], {}, "")}
    role = whole.get("role") if message.type == "chat" else _ROLES.get(whole["type"])
    return Message(
        role=role if role in ROLES else "user",
        content=text,
        name=message.name or None,
        session=session,
        metadata={FIELD: kept | content},
    )


def from_store(episode: Episode) -> BaseMessage:
    """Restore the original message, with its current text."""
    kept = episode.metadata.get(FIELD)
    if not isinstance(kept, Mapping) or "type" not in kept:
        return _said_elsewhere(episode)
    data = {name: value for name, value in kept.items() if name != "type"}
    if "content" not in data or _text(_made(kept["type"], data)) != episode.text:
        data["content"] = episode.text
    return _made(kept["type"], data)


def _as_json(message: BaseMessage) -> dict[str, Any]:
    try:
        return message.model_dump(mode="json")
    except PydanticSerializationError as error:
        raise InvalidInputError(f"a {message.type} message is not JSON-serialisable: {error}") from error


def _made(type_: str, data: Mapping[str, Any]) -> BaseMessage:
    return from_dicts([{"type": type_, "data": dict(data)}])[0]


def _said_elsewhere(episode: Episode) -> BaseMessage:
    """Convert a message that was stored by other means."""
    data = {"content": episode.text, "name": episode.name}
    if episode.role == "tool":
        return _made("tool", data | {"tool_call_id": episode.id})
    return _made({"assistant": "ai", "system": "system"}.get(episode.role, "human"), data)


def _text(message: BaseMessage) -> str:
    content = message.content if isinstance(message.content, list) else [message.content]
    parts = [_part(part) for part in content]
    if not any(part.strip() for part in parts):
        calls = getattr(message, "tool_calls", [])
        parts = [f"{call['name']}({json.dumps(call['args'], ensure_ascii=False)})" for call in calls]
    return "\n".join(part for part in parts if part) or _NO_TEXT


def _part(part: str | Mapping[str, Any]) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('type', 'part')}]"
