"""bAbI (Weston et al. 2015), version 1.2, en-10k test files: stories line by line, with questions in between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nscma_torch.core.records import Message

TASKS = (1, 2, 3, 5, 6, 7, 8)  # those about where people and things are, and who has them
_BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
_STEP = timedelta(minutes=1)
_LINE = re.compile(r"(?P<number>\d+) (?P<text>[^\t]+)(?:\t(?P<answer>[^\t]*)\t(?P<support>[\d ]*))?")


@dataclass(frozen=True)
class Question:
    """A question, asked at `at`, after the messages before it and before those behind it.

    Attributes:
        heard: how many of the story's messages come before it.
        support: places of those that the answer follows from.
    """

    text: str
    answer: str
    at: datetime
    heard: int = 0
    support: tuple[int, ...] = ()


@dataclass(frozen=True)
class Story:
    """One story: its statements as messages a minute apart, and its questions."""

    name: str
    messages: list[Message]
    questions: list[Question]


def load(data: Path, task: int) -> list[Story]:
    """All stories of one task in file order.

    Raises ValueError for a line that is not of the format, FileNotFoundError where there is no file of the task.
    """
    path = next((data / "babi").glob(f"qa{task}_*_test.txt"), None)
    if path is None:
        raise FileNotFoundError(f"no file qa{task}_*_test.txt in {data / 'babi'}")
    return list(_stories(f"qa{task}", path.read_text(encoding="utf-8")))


def _stories(name: str, text: str) -> Iterator[Story]:
    story: Story | None = None
    count = 0
    said: dict[int, int] = {}  # number of a line: place of its message
    for place, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            raise ValueError(f"{name}, line {place}: not a line of bAbI: {line!r}")
        number = int(match["number"])
        if number == 1:
            if story is not None:
                yield story
            count += 1
            story, said = Story(f"{name}-{count}", [], []), {}
        if story is None:
            raise ValueError(f"{name}, line {place}: a story begins with line number 1, this is {number}")
        at = _BEGIN + number * _STEP
        if match["answer"] is None:
            said[number] = len(story.messages)
            story.messages.append(Message("user", match["text"].strip(), at))
        else:
            support = tuple(said[int(line)] for line in match["support"].split() if int(line) in said)
            story.questions.append(Question(match["text"].strip(), match["answer"], at, len(said), support))
    if story is not None:
        yield story
