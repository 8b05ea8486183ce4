"""Split a WhatsApp chat into entries: a line that begins with a date, and the lines that continue it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nscma_torch.compat.exports.whatsapp_times import STAMP, Stamp

_MARK = "\u200e"  # left-to-right mark: on iOS, in front of text that the app has written
_HEAD = re.compile(rf"[\u200e\u200f\ufeff]?(?:\[{STAMP}\] ?|{STAMP.replace('?P<', '?P<a_')} - )")
_NAME = re.compile(r"([^:]{1,80}):(?: |$)")
_QUOTES = re.compile('["“”„«»\n]')
_UNKNOWN = re.compile(r"^~\s?")  # in front of the name of somebody who is not a contact
_OTHER_SPACES = str.maketrans({"\u202f": " ", "\u00a0": " "})
_TAIL = re.compile(r"\s?\u200e<[^<>\n]{1,200}>$")  # <attached: 001.jpg>, <This message was edited>
_EDITED = "<This message was edited>"
_PLACEHOLDER = re.compile(r"<[^<>\n]{1,60}>")  # <Media omitted>, in any language
_ATTACHED = re.compile(
    r"(?:IMG|VID|AUD|PTT|STK|DOC)-\d{8}-WA\d{1,8}\.\w{1,8} \([^()\n]{1,60}\)|.{1,200} \(file attached\)"
)
_GENERATED = frozenset(
    {
        "null",
        "This message was deleted",
        "You deleted this message",
        "Missed voice call",
        "Missed video call",
        "Missed group voice call",
        "Missed group video call",
        "Waiting for this message",
        "Waiting for this message. This may take a while.",
    }
)
_DIRECTIONS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202c\u2068\u2069"))  # marks around names and numbers
MAX_TEXT = 1 << 24  # characters of one entry


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a chat, with those that continue it. `name` is empty in system lines; `line` counts from 1."""

    stamp: Stamp
    name: str
    text: str
    line: int


def entries(lines: Iterator[str]) -> Iterator[Entry]:
    """Yield the entries in a chat; lines before the first one are dropped."""
    current: Entry | None = None
    said: list[str] = []
    size = 0
    for number, line in enumerate(lines, start=1):
        found = _entry(line, number)
        if found is None and size < MAX_TEXT:
            said.append(line)
            size += len(line) + 1
        elif found is not None:
            if current is not None:
                yield _joined(current, said)
            current, said, size = found, [found.text], len(found.text)
    if current is not None:
        yield _joined(current, said)


def _joined(entry: Entry, said: list[str]) -> Entry:
    return Entry(entry.stamp, entry.name, "\n".join(said).rstrip(), entry.line)


def _entry(line: str, number: int) -> Entry | None:
    head = _HEAD.match(line[:80].translate(_OTHER_SPACES))
    if head is None:
        return None
    rest = line[head.end() :]
    name = _NAME.match(rest)
    if name is None or _QUOTES.search(name[1]):
        return Entry(Stamp.of(head), "", rest, number)
    speaker = _UNKNOWN.sub("", name[1].translate(_OTHER_SPACES).translate(_DIRECTIONS).strip())
    return Entry(Stamp.of(head), speaker, rest[name.end() :], number)


def spoken(entry: Entry) -> tuple[str, str]:
    """Return what a person wrote in an entry, or else "" and the kind of entry it is."""
    if not entry.name:
        return "", "system lines"
    text = _TAIL.sub("", entry.text)
    if text.startswith(_MARK) or text.rstrip(".") in _GENERATED or text in _GENERATED:
        return "", "media, calls and deleted messages"
    text = text.removesuffix(_EDITED).rstrip()
    first, _, caption = text.partition("\n")
    if _PLACEHOLDER.fullmatch(first.strip(_MARK)) or _ATTACHED.fullmatch(first.strip(_MARK)):
        text = caption
    text = text.translate(_DIRECTIONS)
    return (text, "") if text.strip() else ("", "media, calls and deleted messages")
