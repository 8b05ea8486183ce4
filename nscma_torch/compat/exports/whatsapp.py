"""WhatsApp's exported chats: `_chat.txt` (iOS), `WhatsApp Chat with ….txt` (Android), alone, in their ZIP archive, or
in a folder.

The chat's name is that of its file, or of the archive or folder with `_chat.txt`; messages have no ids, so that this
name, time and text identify them. Media without a caption, calls and system lines are not imported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from nscma_torch.compat.exports.archives import ExportFile, parts
from nscma_torch.compat.exports.choices import Choices
from nscma_torch.compat.exports.foreign import Foreign, Found, LeftOut, until_fault
from nscma_torch.compat.exports.occurrences import Occurrences
from nscma_torch.compat.exports.speakers import Speaker
from nscma_torch.compat.exports.whatsapp_lines import Entry, entries, spoken
from nscma_torch.compat.exports.whatsapp_times import DateOrder
from nscma_torch.core.errors import MalformedInputError
from nscma_torch.core.records import Message
from nscma_torch.text.calendar.timestamps import parse_timestamp

_UNNAMED = "_chat.txt"
_PREFIX = re.compile(r"WhatsApp Chat (?:with|-) ", re.I)
_COPY = re.compile(r" \(\d{1,3}\)$")


def read(path: Path, chosen: Choices) -> Iterator[Found]:
    """Yield the messages, chat by chat."""
    with parts(path, _is_chat, "_chat.txt or WhatsApp….txt") as found:
        for part in found:
            yield from until_fault(_chat(part, _title(part, path), chosen))


def _is_chat(name: str) -> bool:
    base = name.rpartition("/")[2].lower()
    return base == _UNNAMED or ("whatsapp" in base and base.endswith(".txt"))


def _title(part: ExportFile, path: Path) -> str:
    name = part.base
    if name.lower() == _UNNAMED:
        name = part.folder_in(path)
    name = re.sub(r"\.(?:txt|zip)$", "", name, flags=re.I)
    return _PREFIX.sub("", _COPY.sub("", name)) or "WhatsApp"


def _chat(part: ExportFile, title: str, chosen: Choices) -> Iterator[Found]:
    order = DateOrder()
    for entry in entries(part.lines()):
        order.see(entry.stamp)
    if not order.seen:
        raise MalformedInputError(f"{part.name} has no line that begins with a date and a time; is it WhatsApp's?")
    day_first = order.day_first(part.name, chosen.day_first)
    seen = Occurrences()
    left: Counter[str] = Counter()
    for entry in entries(part.lines()):
        text, kind = spoken(entry)
        if kind:
            left[kind] += 1
            continue
        written = entry.stamp.time(day_first)
        if written is None:
            yield MalformedInputError(f"{part.name}: {entry.stamp.written!r} is not a time", line=entry.line)
            continue
        yield _message(entry, text, written, title, chosen, seen)
    if left:
        yield LeftOut(left)


def _message(entry: Entry, text: str, written: datetime, title: str, chosen: Choices, seen: Occurrences) -> Foreign:
    message = Message(
        role="user",
        content=text,
        timestamp=parse_timestamp(written.replace(tzinfo=chosen.zone)),
        session=f"{title} (WhatsApp)",
        metadata={"title": title},
        # Without the speaker, whom the phone's contacts may name anew.
        idempotency_key=f"whatsapp:{seen.key(title, written.isoformat(), text)}",
    )
    return Foreign(message, {}, speaker=Speaker(entry.name, entry.name))
