"""Signal Desktop's chats as signal-export (`sigexport`) writes them: `CHAT/data.json`, a JSON object a line.

Messages have no ids: the chat's folder, time and text identify them. Calls, deleted messages, stickers and attachments
are not imported.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nscma_torch.compat.exports.archives import ExportFile, parts
from nscma_torch.compat.exports.choices import Choices
from nscma_torch.compat.exports.foreign import Foreign, Found, LeftOut, mapping, until_fault
from nscma_torch.compat.exports.local_times import in_zone
from nscma_torch.compat.exports.occurrences import Occurrences
from nscma_torch.compat.exports.speakers import Speaker
from nscma_torch.core.errors import MalformedInputError
from nscma_torch.core.records import Message

_OWN = "Me"


def read(path: Path, chosen: Choices) -> Iterator[Found]:
    """Yield the messages, chat by chat."""
    with parts(path, lambda name: name.rpartition("/")[2] == "data.json", "CHAT/data.json") as found:
        for part in found:
            yield from until_fault(_chat(part, part.folder_in(path), chosen))


def _chat(part: ExportFile, title: str, chosen: Choices) -> Iterator[Found]:
    seen = Occurrences()
    left: Counter[str] = Counter()
    for number, line in enumerate(part.lines(), start=1):
        if line.strip():
            yield from until_fault(_message(line, f"{part.name}: line {number}", title, chosen, seen, left))
    if left:
        yield LeftOut(left)


def _message(
    line: str, place: str, title: str, chosen: Choices, seen: Occurrences, left: Counter[str]
) -> Iterator[Found]:
    try:
        item = mapping(json.loads(line), place)
    except (json.JSONDecodeError, RecursionError) as error:
        raise MalformedInputError(f"{place} is not JSON, as sigexport writes it: {error}") from error
    body, sender, date = (item.get(name) for name in ("body", "sender", "date"))
    if not isinstance(body, str) or not isinstance(sender, str) or not isinstance(date, str):
        raise MalformedInputError(f"{place} lacks date, sender or body, which sigexport writes")
    if not body.strip() or item.get("call") is True or item.get("deleted") is True:
        left["calls, and messages without text"] += 1
        return
    text = body.strip()
    when, faults = in_zone(date, chosen.zone)
    message = Message(
        role="user",
        content=text,
        timestamp=when,
        session=f"{title} (Signal)",
        metadata={"title": title},
        idempotency_key=f"signal:{seen.key(title, date, text)}",
    )
    yield Foreign(message, {}, faults=faults, speaker=Speaker(sender, sender, is_owner=sender == _OWN))
