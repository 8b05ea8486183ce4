"""Discord: JSON by DiscordChatExporter (a file, a folder, an archive), or the data package that Discord sends, which
contains the owner's messages alone.

Notices, and messages without text, are not imported. A forwarded message becomes a document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nscma_torch.compat.exports import discord_package
from nscma_torch.compat.exports.archives import ExportFile, parts
from nscma_torch.compat.exports.choices import Choices
from nscma_torch.compat.exports.discord_text import plain_text
from nscma_torch.compat.exports.foreign import Foreign, Found, LeftOut, listed, mapping, time_in, until_fault
from nscma_torch.compat.exports.json_stream import JsonStream
from nscma_torch.compat.exports.speakers import Speaker
from nscma_torch.core.errors import MalformedInputError
from nscma_torch.core.records import Message

_ASSETS = re.compile(r"(?:^|/)[^/]*_Files/")
# Kinds that people write, in words, or in numbers where the exporter has no word.
_SAID = ("Default", "Reply", "0", "19", "20", "23")
_OTHER = "is not JSON by DiscordChatExporter: it has no channel with an id before its messages"


def read(path: Path, _: Choices) -> Iterator[Found]:
    """Yield the messages, channel by channel."""
    with parts(path, _is_part, "….json or messages/c…/messages.csv") as found:
        if any(discord_package.MESSAGES.search(part.name) for part in found):
            yield from discord_package.messages(found)
            return
        left: Counter[str] = Counter()
        for part in found:
            yield from until_fault(_channel(part, left))
        if left:
            yield LeftOut(left)


def _is_part(name: str) -> bool:
    is_data = name.lower().endswith(".json") or discord_package.MESSAGES.search(name) is not None
    return is_data and _ASSETS.search(name) is None


def _channel(part: ExportFile, left: Counter[str]) -> Iterator[Found]:
    stream = JsonStream(part)
    head: dict[str, Mapping[str, Any]] = {}
    if stream.begins() != "{":
        raise MalformedInputError(f"{part.name} {_OTHER}")
    read_messages = False
    for key in stream.members():
        if key in ("guild", "channel"):
            head[key] = mapping(stream.value(), f"{part.name}: {key}")
        elif key == "messages":
            if not isinstance(head.get("channel", {}).get("id"), str) or stream.begins() != "[":
                raise MalformedInputError(f"{part.name} {_OTHER}")
            read_messages = True
            for _ in stream.elements():
                yield from until_fault(_message(stream.value(), head, part.name, left))
    if not read_messages:
        raise MalformedInputError(f"{part.name} {_OTHER}")


def _message(value: object, head: Mapping[str, Mapping[str, Any]], name: str, left: Counter[str]) -> Iterator[Found]:
    item = mapping(value, f"{name}: a message")
    author = mapping(item.get("author"), f"{name}: the author of message {item.get('id')!r}")
    if not isinstance(item.get("id"), str) or not isinstance(author.get("id"), str):
        raise MalformedInputError(f"{name}: a message or its author has no id")
    if str(item.get("type")) not in _SAID:
        left["notices"] += 1
        return
    forwarded = item.get("forwardedMessage")
    is_forwarded = isinstance(forwarded, Mapping)
    text = plain_text((forwarded if isinstance(forwarded, Mapping) else item).get("content"), _mentioned(item))
    if not text.strip():
        left["messages without text"] += 1
        return
    when, faults = time_in(item.get("timestamp"))
    channel, guild = head["channel"], head.get("guild", {})
    title = _title(channel, guild)
    metadata: dict[str, Any] = {"title": title, "channel_id": channel["id"]}
    reference = item.get("reference")
    if not is_forwarded and isinstance(reference, Mapping) and isinstance(reference.get("messageId"), str):
        metadata["reply_to"] = reference["messageId"]
    speaker = _speaker(author)
    if is_forwarded:
        metadata["forwarded_by"] = speaker.name
    message = Message(
        role="document" if is_forwarded else "user",
        content=text,
        timestamp=when,
        session=f"{title} (Discord {channel['id']})",
        source="forwarded" if is_forwarded else None,
        metadata=metadata,
        idempotency_key=f"discord:{channel['id']}:{item['id']}",
    )
    yield Foreign(message, {}, faults=faults, speaker=None if is_forwarded else speaker)


def _title(channel: Mapping[str, Any], guild: Mapping[str, Any]) -> str:
    name = str(channel.get("name") or channel["id"])
    return name if guild.get("id") in (None, "0") else f"{guild.get('name') or guild['id']} #{name}"


def _speaker(author: Mapping[str, Any]) -> Speaker:
    names = [name for name in (author.get("nickname"), author.get("name")) if isinstance(name, str) and name]
    is_bot = author.get("isBot") is True
    return Speaker(author["id"], names[0] if names else author["id"], tuple(names), False if is_bot else None, is_bot)


def _mentioned(item: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of mentioned people by id."""
    found = [one for one in listed(item.get("mentions")) if isinstance(one, Mapping)]
    return {str(one.get("id")): str(one.get("nickname") or one.get("name") or one.get("id")) for one in found}
