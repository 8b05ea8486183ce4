"""Read subtitles and transcripts with times: SubRip (.srt) and WebVTT (.vtt)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from nscma_torch.core.errors import MalformedInputError
from nscma_torch.core.records import Message
from nscma_torch.text.files.decoding import decode
from nscma_torch.text.files.documents import text_messages

_TIME = re.compile(r"(?:(\d{1,3}):)?(\d{2}):(\d{2})[.,]\d{1,3}[ \t]+-->[ \t]")
_VOICE = re.compile(r"<v(?:\.[^\s>]{1,64})?[ \t]([^>]{1,128})>")
_TAG = re.compile(r"<[^<>]{1,256}>")
_PAUSE = 30  # seconds of the recording in a paragraph


def subtitle_messages(data: bytes, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the spoken text in paragraphs of half a minute, each after its time in the recording, several in a message.

    Raises `MalformedInputError` if there is no line with times, such as "00:00:01,000 --> 00:00:04,000".
    """
    paragraphs: list[list[str]] = []
    begun = -_PAUSE
    for block in re.split(r"\n[ \t]*\n", decode(data).replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.strip("\n").split("\n")
        place = next((number for number, line in enumerate(lines[:2]) if _TIME.match(line)), None)
        if place is None:  # a note, a style, or the heading
            continue
        time = _TIME.match(lines[place])
        assert time is not None
        second = 3600 * int(time[1] or 0) + 60 * int(time[2]) + int(time[3])
        said = " ".join(filter(None, map(_spoken, lines[place + 1 :])))
        if not said:
            continue
        if second - begun >= _PAUSE:
            paragraphs.append([f"[{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}]"])
            begun = second
        if said != paragraphs[-1][-1]:  # rolling captions repeat a line
            paragraphs[-1].append(said)
    if not paragraphs:
        raise MalformedInputError('no line with times was found, such as "00:00:01,000 --> 00:00:04,000"')
    return text_messages("\n\n".join(map(" ".join, paragraphs)), max_message_bytes)


def _spoken(line: str) -> str:
    return html.unescape(_TAG.sub("", _VOICE.sub(r"\1: ", line))).strip()
