"""Simplify a Chinese question for matching: remove politeness and adverbs, and separate "before"."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

LONGEST = 100  # characters of a question that forms are matched with: their patterns cost more than its length


@dataclass(frozen=True, slots=True)
class Plain:
    """A simplified question. `before` is the object of 之前; `previous` is True if 之前 occurs without an object."""

    words: str
    before: str = ""
    previous: bool = False


_OPENING = re.compile(r"^(?:请问|请|你?还?(?:知道|记得)|告诉我|提醒我|那么|那|对了|我想知道|我忘了|[,，\s])+")
_CLOSING = re.compile(r"(?<![呢啊呀啦哦嘛？?。！!\s])[呢啊呀啦哦嘛？?。！!\s]+$")
_ADVERBS = re.compile(r"现在|目前|如今|眼下|当前|最近|到底|究竟|还是(?=在)|具体")
_BEFORE = re.compile(r"(?:在)?(?:搬到|搬去|去|到|来|在)(?P<before>[^，,]{1,40}?)(?:之前|以前)[，,]?(?:是)?")
_ONCE = re.compile(r"(?:再|这|那)?(?:之前|以前|从前|原来|原先|过去|曾经|曾)的?")


def plain(question: str) -> Plain:
    """Simplify a Chinese question and remove spaces around its characters.

    A question longer than `LONGEST` becomes "".
    """
    text = " ".join(unicodedata.normalize("NFKC", question).split())
    if len(text) > LONGEST:
        return Plain("")
    text = re.sub(r"(?<=[^\x00-\x7f])\s+|(?<!\s)\s++(?=[^\x00-\x7f])", "", text)
    text = _OPENING.sub("", _CLOSING.sub("", text))
    if text.endswith("吗") and re.search(r"谁|什么|哪|多少|几[个岁号]", text):  # "do you know where …?"
        text = text.removesuffix("吗")
    before, previous = "", False
    if match := _BEFORE.search(text):
        before = match["before"]
        text = text[: match.start()] + text[match.end() :]
    text = _ADVERBS.sub("", text)
    once = _ONCE.sub("", text)
    previous = once != text and not before
    return Plain(once.strip(" ,，"), before, previous)
