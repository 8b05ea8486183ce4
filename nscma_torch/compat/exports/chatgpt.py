"""ChatGPT's data export: `conversations.json`, or `conversations-000.json` and so on, in a ZIP archive.

A conversation is a tree of messages, because an edited prompt starts a branch; the branch shown last is the path from
`current_node` up to the root. Only its messages between user and assistant are imported, without system messages,
hidden messages, tool calls and their results, thoughts and images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nscma_torch.compat.exports.archives import json_files
from nscma_torch.compat.exports.foreign import Foreign, Found, listed, mapping, sequence, time_in, until_fault
from nscma_torch.core.errors import MalformedInputError
from nscma_torch.core.records import Message

_FILES = r"conversations(-\d+)?\.json"
_SAID = ("text", "multimodal_text")  # kinds of content that one says to the other


def read(path: Path) -> Iterator[Found]:
    """Yield the messages in an export, conversation by conversation."""
    for name, content in json_files(path, _FILES):
        for number, conversation in enumerate(sequence(content, name), start=1):
            yield from until_fault(_conversation(conversation, name, number))


def _conversation(value: object, name: str, number: int) -> Iterator[Found]:
    place = f"{name}: conversation {number}"
    conversation = mapping(value, place)
    key = str(conversation.get("conversation_id") or conversation.get("id") or f"{name}: {number}")
    title = str(conversation.get("title") or "untitled")
    times: list[object] = [conversation.get("create_time")]
    way, fault = _shown(conversation, place)
    if fault:
        yield MalformedInputError(f"{place}: {fault}")
    for node in way:
        message = node.get("message")
        if not isinstance(message, Mapping) or not _is_said(message):
            continue
        when, faults = time_in(message.get("create_time"), *times)
        times = [when, *times[-1:]]
        text = _text(mapping(message.get("content"), f"{place}: content"))
        if text.strip():
            yield Foreign(
                Message(
                    role=message["author"]["role"],
                    content=text,
                    timestamp=when,
                    session=f"{title} ({key[:8]})",
                    metadata={"title": title, "conversation": key},
                    idempotency_key=f"chatgpt:{key}:{message.get('id') or node.get('id')}",
                ),
                {},
                faults=faults,
            )


def _shown(conversation: Mapping[str, Any], place: str) -> tuple[list[Mapping[str, Any]], str]:
    """Return the nodes in the branch shown last, starting at the root, and a description of any problem with it.

    Nodes without any links form one branch, ordered by time.
    """
    found = mapping(conversation.get("mapping"), f"{place}: mapping")
    nodes = {key: node for key, node in found.items() if isinstance(node, Mapping)}
    parents = _parents(nodes)
    if len(nodes) > 1 and not any(parents.values()):
        return sorted(nodes.values(), key=_created), ""
    current = conversation.get("current_node")
    fault = "" if current is None or current in nodes else f"node {current!r} is missing; the newest branch is used"
    key = current if current in nodes else _last_leaf(nodes, parents)
    way: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while key is not None:
        if key in seen or key not in nodes:
            return way[::-1], f"node {key!r} is missing, or is its own ancestor; earlier messages are omitted"
        seen.add(key)
        way.append(nodes[key])
        key = parents[key]
    return way[::-1], fault


def _parents(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, str | None]:
    """Return each node's parent, using the node's own link or else the parent's link to it."""
    above = {
        child: key for key, node in nodes.items() for child in listed(node.get("children")) if isinstance(child, str)
    }
    named = {key: node.get("parent") for key, node in nodes.items()}
    return {key: parent if isinstance(parent, str) else above.get(key) for key, parent in named.items()}


def _last_leaf(nodes: Mapping[str, Any], parents: Mapping[str, str | None]) -> str | None:
    """Return the newest leaf."""
    inner = set(parents.values())
    return max((key for key in nodes if key not in inner), key=lambda key: _created(nodes[key]), default=None)


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
    """Return the text in a message's parts, including transcripts; images and files are skipped."""
    texts = []
    for part in listed(content.get("parts")):
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):  # an audio transcription
            texts.append(part["text"])
    return "\n".join(text for text in texts if text.strip())
