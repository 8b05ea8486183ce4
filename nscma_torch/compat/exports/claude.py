"""Claude's data export: `conversations.json` in a ZIP archive.

Both sides' messages are imported, and the text in attached files as documents. Thoughts and tool calls are not
imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from nscma_torch.compat.exports.archives import json_files
from nscma_torch.compat.exports.foreign import Foreign, Found, listed, mapping, sequence, time_in, until_fault
from nscma_torch.core.errors import MalformedInputError
from nscma_torch.core.records import Message

_FILES = r"conversations\.json"
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def read(path: Path) -> Iterator[Found]:
    """Yield the messages in an export by conversation, each preceded by the documents attached to it."""
    for name, content in json_files(path, _FILES):
        for number, conversation in enumerate(sequence(content, name), start=1):
            yield from until_fault(_conversation(conversation, name, number))


def _conversation(value: object, name: str, number: int) -> Iterator[Found]:
    place = f"{name}: conversation {number}"
    conversation = mapping(value, place)
    key, title = str(conversation.get("uuid") or f"{name}: {number}"), str(conversation.get("name") or "untitled")
    shared: dict[str, Any] = {"session": f"{title} ({key[:8]})", "metadata": {"title": title, "conversation": key}}
    said = sequence(conversation.get("chat_messages"), f"{place}: chat_messages")
    for at, item in enumerate(said, start=1):
        if not isinstance(item, Mapping):
            yield MalformedInputError(f"{place}: message {at} is not an object but {type(item).__name__}")
            continue
        message = item
        role = _ROLES.get(str(message.get("sender")))
        when, faults = time_in(message.get("created_at"), conversation.get("created_at"))
        own = f"claude:{key}:{message.get('uuid') or at}"
        yield from _attached(message, when, own, shared)
        text = _text(message)
        if role is not None and text.strip():
            yield Foreign(Message(role, text, when, idempotency_key=own, **shared), {}, faults=faults)
        elif role is None and text.strip():
            yield MalformedInputError(f"{place}: message {at} has the unknown sender {message.get('sender')!r}")


def _attached(
    message: Mapping[str, Any], when: datetime | None, own: str, shared: Mapping[str, Any]
) -> Iterator[Foreign]:
    for number, attachment in enumerate(listed(message.get("attachments"))):
        text = attachment.get("extracted_content") if isinstance(attachment, Mapping) else None
        if isinstance(text, str) and text.strip():
            name = str(attachment.get("file_name") or f"attachment {number + 1}")
            key = f"{own}:{number}"
            yield Foreign(Message("document", text, when, source=name, idempotency_key=key, **shared), {})


def _text(message: Mapping[str, Any]) -> str:
    """Return the text in a message's text blocks. If there are none, return `text`, which also contains placeholders
    for other blocks.
    """
    blocks = [block for block in listed(message.get("content")) if isinstance(block, Mapping)]
    texts = [block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]
    if blocks:
        return "\n".join(text for text in texts if text.strip())
    text = message.get("text")
    return text if isinstance(text, str) else ""
