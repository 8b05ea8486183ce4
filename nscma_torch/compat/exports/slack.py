"""Slack's workspace export, a ZIP archive or its folder: `users.json`, `channels.json`, and a file for each channel and
day.

Joins, topics and other notices are not imported, nor are messages without text. A message that was edited after it had
been imported keeps its text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nscma_torch.compat.exports.archives import ExportFile, parts
from nscma_torch.compat.exports.choices import Choices
from nscma_torch.compat.exports.foreign import Foreign, Found, LeftOut, listed, sequence, time_in, until_fault
from nscma_torch.compat.exports.slack_people import People
from nscma_torch.compat.exports.slack_text import plain_text
from nscma_torch.core.errors import InvalidInputError, MalformedInputError
from nscma_torch.core.records import Message

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_USERS = "users.json"
_CHANNELS = ("channels.json", "groups.json", "mpims.json", "dms.json")
_SAID = (None, "", "bot_message", "me_message", "thread_broadcast", "file_share", "reply_broadcast", "file_comment")
_SECONDS = re.compile(r"\d{1,12}(?:\.\d{1,9})?")


class _Channel(NamedTuple):
    id: str
    title: str


def read(path: Path, _: Choices) -> Iterator[Found]:
    """Yield the messages by channel and time."""
    with parts(path, _is_part, "users.json, or CHANNEL/YYYY-MM-DD.json") as found:
        days = [part for part in found if part.folder and _DAY.fullmatch(part.base)]
        lists = {part.base: part for part in found if not _DAY.fullmatch(part.base)}
        if not days:
            raise InvalidInputError(f"{path} contains no CHANNEL/YYYY-MM-DD.json; name Slack's archive, or its folder")
        people = People(_listed(lists, _USERS))
        channels = _channels(lists, people)
        titles = {one.id: one.title for one in channels.values()}
        left: Counter[str] = Counter()
        for part in days:
            channel = channels.get(part.folder) or _Channel(part.folder, part.folder)
            yield from until_fault(_day(part, channel, titles, people, left))
        if left:
            yield LeftOut(left)


def _is_part(name: str) -> bool:
    base = name.rpartition("/")[2]
    return base == _USERS or base in _CHANNELS or _DAY.fullmatch(base) is not None


def _listed(lists: Mapping[str, ExportFile], name: str) -> list[Mapping[str, Any]]:
    if name not in lists:
        return []
    found = sequence(lists[name].json(), name)
    return [one for one in found if isinstance(one, Mapping) and isinstance(one.get("id"), str)]


def _channels(lists: Mapping[str, ExportFile], people: People) -> dict[str, _Channel]:
    """Return the channels by folder."""
    found: dict[str, _Channel] = {}
    for name in _CHANNELS:
        for one in _listed(lists, name):
            if name in ("dms.json", "mpims.json"):
                title = ", ".join(people.name(str(member)) for member in listed(one.get("members")))
            else:
                title = f"#{one.get('name') or one['id']}"
            found[one["id"] if name == "dms.json" else str(one.get("name") or one["id"])] = _Channel(one["id"], title)
    return found


def _day(
    part: ExportFile, channel: _Channel, titles: Mapping[str, str], people: People, left: Counter[str]
) -> Iterator[Found]:
    said: list[Mapping[str, Any]] = []
    for number, item in enumerate(sequence(part.json(), part.name), start=1):
        ts = item.get("ts") if isinstance(item, Mapping) else None
        if not isinstance(ts, str) or _SECONDS.fullmatch(ts) is None:
            yield MalformedInputError(f"{part.name}: message {number} is not an object with a ts")
        else:
            said.append(item)
    for message in sorted(said, key=lambda one: float(one["ts"])):
        yield from _message(message, channel, titles, people, left)


def _message(
    item: Mapping[str, Any], channel: _Channel, titles: Mapping[str, str], people: People, left: Counter[str]
) -> Iterator[Found]:
    if item.get("type", "message") != "message" or item.get("subtype") not in _SAID:
        left["notices and deleted messages"] += 1
        return
    written = item.get("text")
    text = plain_text(written, people.name, titles) if isinstance(written, str) else ""
    if not text.strip():
        left["messages without text"] += 1
        return
    when, faults = time_in(float(item["ts"]))
    metadata = {"channel": channel.title, "channel_id": channel.id}
    thread = item.get("thread_ts")
    if isinstance(thread, str) and thread != item["ts"]:
        metadata["thread"] = thread
    message = Message(
        role="user",
        content=text,
        timestamp=when,
        session=f"{channel.title} (Slack {channel.id})",
        metadata=metadata,
        idempotency_key=f"slack:{channel.id}:{item['ts']}",
    )
    yield Foreign(message, {}, faults=faults, speaker=people.speaker(item))
