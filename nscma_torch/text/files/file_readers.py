"""Read messages from files: OpenAI-style JSON and JSON lines, Markdown, plain text, and documents of other programs.

A file is read twice: first to check every message, then to yield the messages. So an invalid line is reported before
the first message is yielded, and no part of an invalid file is stored. A document of another program is parsed once.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Literal, cast, get_args

from nscma_torch.core.errors import EmptyTextError, InvalidInputError, TextTooLargeError
from nscma_torch.core.records import Message
from nscma_torch.text.files.decoding import UTF8_BOM, decode
from nscma_torch.text.files.documents import markdown_messages, text_messages
from nscma_torch.text.files.file_keys import FileKeys, place_of, place_of_name
from nscma_torch.text.files.json_messages import json_line_messages, json_messages, lines_of

Format = Literal[
    "json", "jsonl", "markdown", "text", "pdf", "docx", "html", "epub", "csv", "email", "mbox", "subtitles"
]

_FORMATS = ", ".join(get_args(Format))
SUFFIXES: dict[str, Format] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".pdf": "pdf",
    ".docx": "docx",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".epub": "epub",
    ".csv": "csv",
    ".tsv": "csv",
    ".eml": "email",
    ".mbox": "mbox",
    ".srt": "subtitles",
    ".vtt": "subtitles",
}
MAX_FILE_BYTES = 1 << 28  # limit for input held in memory: everything except a JSON lines file on disk
_HEAD_BYTES = 1 << 16
_MARKDOWN_SIGN = re.compile(r"^ {0,3}(?:#{1,6}[ \t]+\S|```|~~~)", re.MULTILINE)
_WHOLE_TEXT_READERS = {"json": json_messages, "markdown": markdown_messages, "text": text_messages}
_CONVERTED: dict[str, tuple[str, str]] = {  # module and function
    "pdf": ("pdf_pages", "pdf_messages"),
    "docx": ("word_documents", "docx_messages"),
    "html": ("web_pages", "html_messages"),
    "epub": ("e_books", "epub_messages"),
    "csv": ("tables", "csv_messages"),
    "email": ("mail", "email_messages"),
    "mbox": ("mail", "mbox_messages"),
    "subtitles": ("subtitles", "subtitle_messages"),
}


def read_messages(
    source: Path | BinaryIO,
    *,
    name: str | None = None,
    format: str | None = None,
    max_message_bytes: int | None = None,
    max_file_bytes: int = MAX_FILE_BYTES,
) -> Iterator[Message]:
    """Yield the messages in a file or an open binary stream, each with an idempotency key from `file_keys`.

    `format` is one of `Format`; by default, it is determined by the suffix or, without a suffix, by the beginning of
    the content. A file with another suffix is rejected: a program isn't prose. A document's name (`Message.source`) is
    the file's name; `name` gives the name of a stream. All formats but JSON give messages with role "document". PDF,
    Word documents, HTML and EPUB need the extra `files`. A byte order mark and CRLF are accepted. A JSON lines file on
    disk is streamed; other files are read at once, up to `max_file_bytes`.

    Raises, before the first message: `InvalidInputError` for an unknown format or a file that can't be opened;
    `EmptyTextError`, `EncodingError`, `MalformedInputError`, `TimestampError` with the position in the file; and
    `TextTooLargeError` for a message above `max_message_bytes` in UTF-8 (None uses the default from `limits`), or a
    file that is too large.
    """
    if format is not None and format not in get_args(Format):
        raise InvalidInputError(f"unknown format {format!r}; use one of {_FORMATS}")
    kind = cast(Format | None, format)
    if max_message_bytes is None:
        from nscma_torch.core.config import LimitsConfig

        max_message_bytes = LimitsConfig().max_message_bytes
    if isinstance(source, Path):
        path = source
        file = _File(lambda: _open(path), kind or _by_suffix(path), path.name, place_of(path))
    else:
        place = None if name is None else place_of_name(name)
        kind = kind if name is None else kind or _by_suffix(Path(name))
        data = _read_whole(source, max_file_bytes)
        file = _File(lambda: io.BytesIO(data), kind, name, place)
    return _checked(file, max_message_bytes, max_file_bytes)


@dataclass(frozen=True, slots=True)
class _File:
    """A file to read: its format, name and the prefix of its keys, None where unknown."""

    opened: Callable[[], BinaryIO]
    kind: Format | None
    name: str | None
    place: str | None


def _by_suffix(path: Path) -> Format | None:
    """Return the format for a file's suffix, or None if it has no suffix. Raises `InvalidInputError` for an unknown
    suffix."""
    suffix = path.suffix.lower()
    if suffix and suffix not in SUFFIXES:
        raise InvalidInputError(
            f"files of type {suffix!r} are not supported, only {', '.join(SUFFIXES)}; give the format if it is one "
            f"of {_FORMATS}, or pipe its text in: nscma add -"
        )
    return SUFFIXES.get(suffix)


def _checked(file: _File, max_message_bytes: int, max_file_bytes: int) -> Iterator[Message]:
    name = file.name
    with file.opened() as stream:
        kind = file.kind or _sniffed(stream)
        stream.seek(0)
        numbered = partial(_numbered, kind=kind, max_message_bytes=max_message_bytes, max_file_bytes=max_file_bytes)
        parsed = [*numbered(stream)] if kind in _CONVERTED else None  # once, since it takes long
        if not (sum(1 for _ in numbered(stream)) if parsed is None else parsed):
            raise EmptyTextError(f"{name or 'the input'} is empty: it has no messages")

    def messages() -> Iterator[Message]:
        keys = FileKeys(file.place)
        with file.opened() as stream:
            for _, message in numbered(stream) if parsed is None else parsed:
                source = name if message.role == "document" and kind not in ("json", "jsonl") else None
                yield replace(message, source=source, idempotency_key=message.idempotency_key or keys.key(message))

    return messages()


def _numbered(
    stream: BinaryIO, *, kind: Format, max_message_bytes: int, max_file_bytes: int
) -> Iterator[tuple[int, Message]]:
    stream.seek(0)
    if kind == "jsonl":
        return json_line_messages(lines_of(stream, max_message_bytes), max_message_bytes)
    if kind in _CONVERTED:
        module, function = _CONVERTED[kind]
        reader = getattr(import_module(f"nscma_torch.text.files.converted.{module}"), function)
        found: Iterator[tuple[int, Message]] = reader(_read_whole(stream, max_file_bytes), max_message_bytes)
        return found
    return _WHOLE_TEXT_READERS[kind](decode(_read_whole(stream, max_file_bytes)), max_message_bytes)


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {error.strerror}") from error


def _read_whole(stream: BinaryIO, max_file_bytes: int) -> bytes:
    data = stream.read(max_file_bytes + 1)
    if len(data) > max_file_bytes:
        raise TextTooLargeError(
            f"the input has more than {max_file_bytes} bytes; split it, or make it a JSON lines file, which is streamed"
        )
    return data


def _sniffed(stream: BinaryIO) -> Format:
    """Detect the format from the first 64 KiB: JSON if they begin like JSON, Markdown if a line is a heading or a
    fence, else text.
    """
    head = stream.read(_HEAD_BYTES).removeprefix(UTF8_BOM).decode("utf-8", "replace").lstrip()
    if re.match(r"\[\s*(?:[{\]]|$)", head):
        return "json"
    if re.match(r"\{\s*(?:[\"}]|$)", head):
        return _sniffed_json(head)
    return "markdown" if _MARKDOWN_SIGN.search(head) else "text"


def _sniffed_json(head: str) -> Format:
    """Distinguish JSON lines from one object over several lines. An invalid first line before another object also
    counts as JSON lines.
    """
    if re.match(r'\{\s*"messages"\s*:', head):
        return "json"
    first, *others = (line for line in head.splitlines() if line.strip())
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return "jsonl" if not others or others[0].lstrip().startswith("{") else "json"
    return "json" if isinstance(value, dict) and "messages" in value else "jsonl"
