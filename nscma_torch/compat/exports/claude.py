"""Claude's data export: `conversations.json` in a ZIP archive.

Of a conversation what both said is taken, and the text of attached files as documents; no thoughts, no tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from nscma_torch.compat.exports.archives import json_files
from nscma_torch.compat.exports.foreign import Foreign, mapping, sequence, time_of
from nscma_torch.records import Message

_FILES = r"conversations\.json"
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def read(path: Path) -> Iterator[Foreign]:
    """Messages of an export, conversation by conversation, each with the documents that were attached to it first."""
    for name, content in json_files(path, _FILES):
        for number, conversation in enumerate(sequence(content, name), start=1):
            yield from _conversation(mapping(conversation, f"{name}: conversation {number}"), f"{name}: {number}")


def _conversation(conversation: Mapping[str, Any], place: str) -> Iterator[Foreign]:
    key, title = str(conversation.get("uuid") or place), str(conversation.get("name") or "untitled")
    shared: dict[str, Any] = {"session": f"{title} ({key[:8]})", "metadata": {"title": title, "conversation": key}}
    said = sequence(conversation.get("chat_messages"), f"{place}: chat_messages")
    for number, item in enumerate(said, start=1):
        message = mapping(item, f"{place}: message {number}")
        role = _ROLES.get(str(message.get("sender")))
        when = time_of(message.get("created_at") or conversation.get("created_at"))
        own = f"claude:{key}:{message.get('uuid') or number}"
        yield from _attached(message, when, own, shared)
        text = _text(message)
        if role is not None and text.strip():
            yield Foreign(Message(role, text, when, idempotency_key=own, **shared), {})


def _attached(
    message: Mapping[str, Any], when: datetime | None, own: str, shared: Mapping[str, Any]
) -> Iterator[Foreign]:
    for number, attachment in enumerate(message.get("attachments") or ()):
        text = attachment.get("extracted_content") if isinstance(attachment, Mapping) else None
        if isinstance(text, str) and text.strip():
            name = str(attachment.get("file_name") or f"attachment {number + 1}")
            key = f"{own}:{number}"
            yield Foreign(Message("document", text, when, source=name, idempotency_key=key, **shared), {})


def _text(message: Mapping[str, Any]) -> str:
    """The text blocks; `text`, which also holds placeholders for other blocks, where there are none."""
    blocks = [block for block in message.get("content") or () if isinstance(block, Mapping)]
    texts = [block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]
    if blocks:
        return "\n".join(text for text in texts if text.strip())
    text = message.get("text")
    return text if isinstance(text, str) else ""
