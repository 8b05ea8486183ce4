"""ChatGPT's data export: `conversations.json`, or `conversations-000.json` and so on, in a ZIP archive.

A conversation is a tree of messages, as an edited prompt begins a branch; what the page showed last is the way from
`current_node` up to the root. Of it, what the user and the assistant said to each other is taken: no system messages,
hidden ones, calls and results of tools, thoughts, or images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nscma_torch.compat.exports.archives import json_files
from nscma_torch.compat.exports.foreign import Foreign, mapping, sequence, time_of
from nscma_torch.errors import MalformedInputError
from nscma_torch.records import Message

_FILES = r"conversations(-\d+)?\.json"
_SAID = ("text", "multimodal_text")  # kinds of content that one says to the other


def read(path: Path) -> Iterator[Foreign]:
    """Messages of an export, conversation by conversation."""
    for name, content in json_files(path, _FILES):
        for number, conversation in enumerate(sequence(content, name), start=1):
            yield from _conversation(mapping(conversation, f"{name}: conversation {number}"), f"{name}: {number}")


def _conversation(conversation: Mapping[str, Any], place: str) -> Iterator[Foreign]:
    key = str(conversation.get("conversation_id") or conversation.get("id") or place)
    title = str(conversation.get("title") or "untitled")
    when = conversation.get("create_time")
    for node in _shown(conversation, place):
        message = node.get("message")
        if not isinstance(message, Mapping) or not _is_said(message):
            continue
        when = message.get("create_time") or when
        text = _text(mapping(message.get("content"), f"{place}: content"))
        if text.strip():
            yield Foreign(
                Message(
                    role=message["author"]["role"],
                    content=text,
                    timestamp=time_of(when),
                    session=f"{title} ({key[:8]})",
                    metadata={"title": title, "conversation": key},
                    idempotency_key=f"chatgpt:{key}:{message.get('id') or node.get('id')}",
                ),
                {},
            )


def _shown(conversation: Mapping[str, Any], place: str) -> list[Mapping[str, Any]]:
    """The nodes of the branch that was shown last, from the root."""
    nodes = mapping(conversation.get("mapping"), f"{place}: mapping")
    key = conversation.get("current_node") or _last_leaf(nodes)
    way: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while key is not None:
        if key in seen or key not in nodes:
            raise MalformedInputError(f"{place}: node {key!r} is missing, or its own ancestor; export it anew")
        seen.add(key)
        way.append(mapping(nodes[key], f"{place}: node {key}"))
        key = way[-1].get("parent")
    return way[::-1]


def _last_leaf(nodes: Mapping[str, Any]) -> str | None:
    """The newest leaf, where an export does not say which one was shown."""
    parents = {node.get("parent") for node in nodes.values() if isinstance(node, Mapping)}
    leaves = [key for key in nodes if key not in parents]
    return max(leaves, key=lambda key: _created(nodes[key]), default=None)


def _created(node: Any) -> float:
    message = node.get("message") if isinstance(node, Mapping) else None
    created = message.get("create_time") if isinstance(message, Mapping) else None
    return created if isinstance(created, int | float) else 0.0


def _is_said(message: Mapping[str, Any]) -> bool:
    author, content, more = (message.get(key) for key in ("author", "content", "metadata"))
    return (
        isinstance(author, Mapping)
        and author.get("role") in ("user", "assistant")
        and message.get("recipient") in (None, "all")
        and isinstance(content, Mapping)
        and content.get("content_type", "text") in _SAID
        and not (isinstance(more, Mapping) and more.get("is_visually_hidden_from_conversation"))
    )


def _text(content: Mapping[str, Any]) -> str:
    """The texts of the parts, also of what was spoken; images and files are left out."""
    texts = []
    for part in content.get("parts") or ():
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):  # an audio transcription
            texts.append(part["text"])
    return "\n".join(text for text in texts if text.strip())
