"""Discord's own data package: `messages/c…/messages.json` (a list) or `messages.csv`, beside `channel.json`.

It contains only the messages of the account that asked for it. Its times are in UTC.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nscma_torch.compat.exports.archives import ExportFile
from nscma_torch.compat.exports.discord_text import plain_text
from nscma_torch.compat.exports.foreign import Foreign, Found, LeftOut, mapping, time_in, until_fault
from nscma_torch.compat.exports.json_stream import JsonStream
from nscma_torch.compat.exports.speakers import Speaker
from nscma_torch.core.errors import MalformedInputError
from nscma_torch.core.records import Message

MESSAGES = re.compile(r"(?:^|/)c?(\d{5,20})/messages\.(?:json|csv)$")
_ACCOUNT = re.compile(r"(?:^|/)account/user\.json$", re.I)
_FIELDS = ("ID", "Timestamp", "Contents")


def messages(found: Sequence[ExportFile]) -> Iterator[Found]:
    """Yield the messages in a data package, channel by channel."""
    by_name = {part.name: part for part in found}
    owner = _owner(found)
    left: Counter[str] = Counter()
    for part in found:
        if (match := MESSAGES.search(part.name)) is not None:
            beside = by_name.get(f"{part.name.rpartition('/')[0]}/channel.json")
            yield from until_fault(_channel(part, beside, match[1], owner, left))
    if left:
        yield LeftOut(left)


def _owner(found: Iterable[ExportFile]) -> Speaker:
    for part in found:
        if _ACCOUNT.search(part.name) is not None:
            user = mapping(part.json(), part.name)
            names = [name for name in (user.get("global_name"), user.get("username")) if isinstance(name, str) and name]
            if isinstance(user.get("id"), str):
                return Speaker(user["id"], names[0] if names else user["id"], tuple(names), is_owner=True)
    return Speaker("me", "me", is_owner=True)


def _channel(
    part: ExportFile, beside: ExportFile | None, key: str, owner: Speaker, left: Counter[str]
) -> Iterator[Found]:
    about = {} if beside is None else mapping(beside.json(), beside.name)
    title = _title(about, key)
    for number, row in enumerate(_rows(part), start=1):
        yield from until_fault(_message(row, f"{part.name}: message {number}", title, key, owner, left))


def _title(about: Mapping[str, Any], key: str) -> str:
    name, guild = str(about.get("name") or key), about.get("guild")
    return f"{guild['name']} #{name}" if isinstance(guild, Mapping) and guild.get("name") else name


def _rows(part: ExportFile) -> Iterator[object]:
    if part.base.endswith(".json"):
        stream = JsonStream(part)
        if stream.begins() != "[":
            raise MalformedInputError(f"{part.name} is not a list of messages")
        for _ in stream.elements():
            yield stream.value()
        return
    try:
        yield from csv.DictReader(line + "\n" for line in part.lines())
    except csv.Error as error:
        raise MalformedInputError(f"{part.name} is not CSV: {error}") from error


def _message(row: object, place: str, title: str, key: str, owner: Speaker, left: Counter[str]) -> Iterator[Found]:
    item = mapping(row, place)
    number = item.get("ID")
    if not isinstance(number, int | str) or any(name not in item for name in _FIELDS):
        raise MalformedInputError(f"{place} lacks one of {', '.join(_FIELDS)}")
    text = plain_text(item["Contents"], {})
    if not text.strip():
        left["messages without text"] += 1
        return
    when, faults = time_in(item["Timestamp"])
    message = Message(
        role="user",
        content=text,
        timestamp=when,
        session=f"{title} (Discord {key})",
        metadata={"title": title, "channel_id": key},
        idempotency_key=f"discord:{key}:{number}",
    )
    yield Foreign(message, {}, faults=faults, speaker=owner)
