"""BEAM 100K (Tavakoli et al. 2025): long chats whose questions name the messages that a statement and its update, or
two contradictory statements, stand in.

A pair is left out, and named, where a side has no message of the chat. Where one message holds both sides the pair is
kept: it can be found, but neither side can come before the other. Every other question names the messages of its
evidence in a list; those that name none (all of `abstention`) are not in `questions`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from nscma_torch.records import Message

Category = Literal["knowledge_update", "contradiction_resolution"]
_SIDES: dict[Category, tuple[str, str]] = {
    "knowledge_update": ("original_info", "updated_info"),
    "contradiction_resolution": ("first_statement", "second_statement"),
}
_TAIL = re.compile(r"\s*->->\s*\d[^\n]{0,12}$")  # the plan's numbering, which the generator left behind messages
_STEP = timedelta(seconds=30)


@dataclass(frozen=True)
class Pair:
    """A question on two statements; `first` and `second` are places in the chat's messages, the original one first."""

    category: Category
    question: str
    first: frozenset[int]
    second: frozenset[int]

    @property
    def together(self) -> bool:
        """Whether one message holds both sides."""
        return bool(self.first & self.second)


@dataclass(frozen=True)
class Question:
    """A question of any of the categories; `evidence` are places in the chat's messages."""

    category: str
    text: str
    evidence: frozenset[int]


@dataclass(frozen=True)
class Chat:
    """One chat; `asked_at` is a day after its last message, `malformed` names pairs that were left out."""

    name: str
    messages: list[Message]
    pairs: list[Pair]
    questions: list[Question]
    asked_at: datetime
    malformed: tuple[str, ...]


def load(data: Path) -> list[Chat]:
    """All chats of `data/beam/100K` by number; even ones (0-based) are for tuning, odd ones for claims."""
    folders = sorted((data / "beam" / "100K").iterdir(), key=lambda folder: int(folder.name))
    return [_chat(folder) for folder in folders]


def _chat(folder: Path) -> Chat:
    messages: list[Message] = []
    place: dict[int, int] = {}
    for batch in json.loads((folder / "chat.json").read_text(encoding="utf-8")):
        turns = [turn for exchange in batch["turns"] for turn in exchange]
        began = datetime.strptime(turns[0]["time_anchor"], "%B-%d-%Y").replace(tzinfo=UTC)
        for i, turn in enumerate(turns):
            place[turn["id"]] = len(messages)
            text = _TAIL.sub("", turn["content"])
            session = f"batch_{batch['batch_number']}"
            messages.append(Message(turn["role"], text, began + i * _STEP, session=session))
    probes = json.loads((folder / "probing_questions" / "probing_questions.json").read_text(encoding="utf-8"))
    pairs, malformed = [], []
    for category, sides in _SIDES.items():
        for number, probe in enumerate(probes[category]):
            first, second = (_places(probe["source_chat_ids"], side, place) for side in sides)
            if first and second:
                pairs.append(Pair(category, probe["question"], first, second))
            else:
                malformed.append(f"{folder.name} {category} {number}")
    asked = [
        Question(category, probe["question"], frozenset(_numbers(probe.get("source_chat_ids"), place)))
        for category, own in probes.items()
        for probe in own
    ]
    questions = [question for question in asked if question.evidence]
    last = messages[-1].timestamp
    assert last is not None
    return Chat(folder.name, messages, pairs, questions, last + timedelta(days=1), tuple(malformed))


def _places(sources: dict[str, list[Any]], side: str, place: dict[int, int]) -> frozenset[int]:
    return frozenset(place[number] for number in sources.get(side, ()) if number in place)


def _numbers(sources: Any, place: dict[int, int]) -> Iterator[int]:
    """Places of the messages that are named: by a number, or in lists of any depth, or under keys."""
    if isinstance(sources, int):
        yield from [place[sources]] if sources in place else []
    elif sources is not None:
        for own in sources.values() if isinstance(sources, dict) else sources:
            yield from _numbers(own, place)
