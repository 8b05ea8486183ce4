"""Telegram Desktop's export in JSON: `result.json` of one chat, or of the whole account.

A forwarded message, or one of a channel, becomes a document: its words are not those of the chat's people. Service
messages, and media without a caption, are not imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nscma_torch.compat.exports.archives import parts
from nscma_torch.compat.exports.choices import Choices
from nscma_torch.compat.exports.foreign import Foreign, Found, LeftOut, listed, time_in, until_fault
from nscma_torch.compat.exports.json_stream import JsonStream
from nscma_torch.compat.exports.local_times import in_zone
from nscma_torch.compat.exports.speakers import Speaker
from nscma_torch.core.errors import MalformedInputError
from nscma_torch.core.records import Message

_OF_CHAT = frozenset({"name", "type", "id"})
_LISTS = ("chats", "left_chats")
_WITH_PEER = ("personal_chat", "bot_chat")  # whose id is that of the other side
_OWN = "saved_messages"


def read(path: Path, chosen: Choices) -> Iterator[Found]:
    """Yield the messages, chat by chat."""
    with parts(path, lambda name: name.rpartition("/")[2] == "result.json", "result.json") as found:
        for part in found:
            stream = JsonStream(part)
            left: Counter[str] = Counter()
            if stream.begins() != "{":
                raise MalformedInputError(f"{part.name} is not Telegram's: it does not begin with an object")
            yield from until_fault(_account_or_chat(stream, part.name, chosen, left))
            if left:
                yield LeftOut(left)


def _account_or_chat(stream: JsonStream, name: str, chosen: Choices, left: Counter[str]) -> Iterator[Found]:
    head: dict[str, Any] = {}
    owner = ""
    chats = False
    for key in stream.members():
        if key in _OF_CHAT:
            head[key] = stream.value()
        elif key == "personal_information":
            told = stream.value()
            owner = str(told.get("user_id") or "") if isinstance(told, Mapping) else ""
        elif key == "messages":
            chats = True
            yield from _messages(stream, _Chat(head, owner, name), chosen, left)
        elif key in _LISTS and stream.begins() == "{":
            chats = True
            for inner in stream.members():
                if inner == "list" and stream.begins() == "[":
                    for _ in stream.elements():
                        yield from _chat(stream, owner, name, chosen, left)
    if not chats:
        raise MalformedInputError(f"{name} has neither messages nor chats; export it in JSON with Telegram Desktop")


def _chat(stream: JsonStream, owner: str, name: str, chosen: Choices, left: Counter[str]) -> Iterator[Found]:
    if stream.begins() != "{":
        yield MalformedInputError(f"{name}: a chat is not an object")
        return
    head: dict[str, Any] = {}
    for key in stream.members():
        if key in _OF_CHAT:
            head[key] = stream.value()
        elif key == "messages":
            yield from _messages(stream, _Chat(head, owner, name), chosen, left)


class _Chat:
    """A chat, as its messages need it. Raises `MalformedInputError` if it has no id."""

    def __init__(self, head: Mapping[str, Any], owner: str, name: str) -> None:
        if not isinstance(head.get("id"), int | str):
            raise MalformedInputError(f"{name}: a chat has no id before its messages; export it with Telegram Desktop")
        self.id = str(head["id"])
        self.kind = str(head.get("type") or "")
        self.title = str(head.get("name") or ("Saved Messages" if self.kind == _OWN else "untitled"))
        self.place = f"{name}: chat {self.id}"
        self._owner = owner

    def speaker(self, message: Mapping[str, Any]) -> Speaker:
        """Return who wrote a message."""
        key = str(message.get("from_id") or message.get("from") or "unknown")
        number = key.removeprefix("user")
        own: bool | None = None
        if self.kind == _OWN:
            own = True
        elif self._owner:
            own = number == self._owner
        elif self.kind in _WITH_PEER and key.startswith("user"):
            own = number != self.id
        is_bot = self.kind == "bot_chat" and number == self.id
        return Speaker(key, str(message.get("from") or key), (number,), own, is_bot)


def _messages(stream: JsonStream, chat: _Chat, chosen: Choices, left: Counter[str]) -> Iterator[Found]:
    if stream.begins() != "[":
        yield MalformedInputError(f"{chat.place}: messages is not a list")
        return
    for _ in stream.elements():
        yield from until_fault(_message(stream.value(), chat, chosen, left))


def _message(value: object, chat: _Chat, chosen: Choices, left: Counter[str]) -> Iterator[Found]:
    if not isinstance(value, Mapping) or not isinstance(value.get("id"), int):
        raise MalformedInputError(f"{chat.place}: a message is not an object with an id")
    if value.get("type") != "message":
        left["service messages"] += 1
        return
    text = _text(value.get("text"))
    if not text.strip():
        left["messages without text"] += 1
        return
    seconds = value.get("date_unixtime")
    exact = isinstance(seconds, str) and seconds.isascii() and seconds.isdigit()
    when, faults = time_in(int(str(seconds))) if exact else in_zone(value.get("date"), chosen.zone)
    metadata: dict[str, Any] = {"title": chat.title, "chat": chat.id}
    if isinstance(value.get("reply_to_message_id"), int):
        metadata["reply_to"] = value["reply_to_message_id"]
    speaker = chat.speaker(value)
    source = _source(value, speaker)
    if source is not None:
        metadata["forwarded_by"] = speaker.name
    message = Message(
        role="user" if source is None else "document",
        content=text,
        timestamp=when,
        session=f"{chat.title} (Telegram {chat.id})",
        source=source,
        metadata=metadata,
        idempotency_key=f"telegram:{chat.id}:{value['id']}",
    )
    yield Foreign(message, {}, faults=faults, speaker=speaker if source is None else None)


def _source(message: Mapping[str, Any], speaker: Speaker) -> str | None:
    """Return who wrote the text, if that isn't the speaker in the chat."""
    if "forwarded_from" in message and message["forwarded_from"] != message.get("from"):
        return str(message["forwarded_from"] or "forwarded")
    return speaker.name if speaker.id.startswith("channel") else None


def _text(value: object) -> str:
    """Join a text's entities: strings, and objects with a text, such as links and mentions."""
    if isinstance(value, str):
        return value
    found = [one.get("text") if isinstance(one, Mapping) else one for one in listed(value)]
    return "".join(text for text in found if isinstance(text, str))
