"""Convert Markdown and plain text to messages with role "document".

There is one message per section, or per group of paragraphs up to a size limit.

Only the Markdown syntax (https://spec.commonmark.org) relevant to splitting is parsed: both kinds of headings; code
fences, which aren't split; and front matter. Everything else is kept as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from nscma_torch.core.errors import TextTooLargeError
from nscma_torch.core.records import Message

BLOCK_CHARS = 4000  # paragraphs are joined up to this many characters a message

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r" {0,3}(#{1,6})(?!\S)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*\n?$")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_NOT_A_TITLE = re.compile(r"[ \t]*(?:[-*+>|]|\d{1,9}[.)])|    |\t")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?=[\w-]+:)(?:.*\n){1,200}?(?:---|\.\.\.)[ \t]*(?:\n|$)")


@dataclass(slots=True)
class _Section:
    """Consecutive blocks `text[start:end]` under the same path of headings."""

    headings: tuple[str, ...]
    level: int
    blocks: list[tuple[int, int]] = field(default_factory=list)
    body: bool = False  # whether there is more than the heading


def markdown_messages(text: str, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the number (from 1) and message for each section, split into parts if large; `name` is its path of
    headings, as in "Guide > Setup".

    A heading followed only by deeper headings gives no message, but appears in their paths.
    """
    text = _unix_lines(text)
    sections = _sections(text, markup=True)
    kept = [
        section
        for section, following in zip(sections, [*sections[1:], None], strict=True)
        if section.blocks and (section.body or following is None or following.level <= section.level)
    ]
    yield from _messages(text, kept, max_message_bytes)


def text_messages(text: str, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the number (from 1) and message for each group of paragraphs; a paragraph is cut only above
    `max_message_bytes`.
    """
    text = _unix_lines(text)
    yield from _messages(text, _sections(text, markup=False), max_message_bytes)


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _sections(text: str, *, markup: bool) -> list[_Section]:
    """Return the blocks (lines without a blank line between them) grouped by section, in order. Without `markup`, there
    is one section."""
    sections = [_Section((), 0)]
    path: list[tuple[int, str]] = []
    block: int | None = None  # where the block that is being read began
    fence = ""
    previous = end = 0
    front_matter = _FRONT_MATTER.match(text) if markup else None
    if front_matter:
        sections[0].blocks.append(front_matter.span())
        sections[0].body = True

    def close() -> None:
        nonlocal block
        if block is not None:
            sections[-1].blocks.append((block, end))
            sections[-1].body = True
        block = None

    def open_section(level: int, title: str, start: int, stop: int) -> None:
        del path[next((i for i, (above, _) in enumerate(path) if above >= level), len(path)) :]
        path.append((level, title.strip()))
        sections.append(_Section(tuple(name for _, name in path if name), level, [(start, stop)]))

    for match in _LINE.finditer(text, front_matter.end() if front_matter else 0):
        line, start = match[0], match.start()
        if fence:
            if line.strip().strip(fence[0]) == "" and line.strip().startswith(fence):
                fence = ""
        elif line.isspace():
            close()
            continue
        elif markup and (heading := _HEADING.match(line)):
            close()
            title = line[heading.end() :].strip()
            open_section(len(heading[1]), re.sub(r"(?:^|(?<=\s))#+$", "", title), start, match.end())
            continue
        elif markup and block == previous and block is not None and (underline := _UNDERLINE.match(line)):
            title = text[previous:start]
            if not _NOT_A_TITLE.match(title):
                block = None
                open_section(1 if underline[1][0] == "=" else 2, title, previous, match.end())
                continue
        elif markup and (opening := _FENCE.match(line)):
            fence = opening[1]
        block = start if block is None else block
        previous, end = start, match.end()
    close()
    return sections


def _messages(text: str, sections: list[_Section], max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    number, line, counted = 0, 1, 0
    for section in sections:
        bounded = [part for block in section.blocks for part in _bounded(text, block, max_message_bytes)]
        for start, end in _joined(bounded, min(BLOCK_CHARS, max_message_bytes // 4)):
            number += 1
            line += text.count("\n", counted, start)
            counted = start
            metadata = {"line": line, **({"headings": list(section.headings)} if section.headings else {})}
            name = " > ".join(section.headings) or None
            yield number, Message("document", text[start:end].rstrip(), name=name, metadata=metadata)


def _joined(blocks: list[tuple[int, int]], max_chars: int) -> Iterator[tuple[int, int]]:
    """Join consecutive blocks up to `max_chars`; larger blocks stay separate."""
    first: int | None = None
    last = 0
    for start, end in blocks:
        if first is not None and end - first > max_chars:
            yield first, last
            first = None
        first = start if first is None else first
        last = end
    if first is not None:
        yield first, last


def _bounded(text: str, block: tuple[int, int], max_message_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield the block, or its lines if it exceeds the maximum message size in bytes."""
    start, end = block
    if len(text[start:end].encode()) <= max_message_bytes:
        yield block
        return
    for match in _LINE.finditer(text, start, end):
        size = len(match[0].encode())
        if size > max_message_bytes:
            raise TextTooLargeError(
                f"line {text.count(chr(10), 0, match.start()) + 1}: {size} bytes without a line break, but "
                f"limits.max_message_bytes is {max_message_bytes}; break the line"
            )
        yield match.span()
