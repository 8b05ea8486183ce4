"""LoCoMo (Maharana et al. 2024): conversations of many dated sessions, questions with the turns that hold their
evidence.

Malformed evidence ids are reported, not guessed: an id that is no turn of its conversation is dropped, and a question
without any valid id is left out of recall.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nscma_torch.records import Message

_TURN_ID = re.compile(r"D\d+:\d+")
_UNANSWERABLE = 5  # category of the adversarial questions


@dataclass(frozen=True)
class Question:
    """`evidence` are places in the conversation's messages; empty for an unanswerable question."""

    text: str
    category: int
    evidence: tuple[int, ...]


@dataclass(frozen=True)
class Conversation:
    """One conversation; `asked_at` is a day after its last session."""

    name: str
    messages: list[Message]
    questions: list[Question]
    unanswerable: list[Question]
    asked_at: datetime
    malformed: tuple[str, ...]


def load(data: Path) -> list[Conversation]:
    """All conversations of `data/locomo`, in file order; even ones (0-based) are for tuning, odd ones for claims."""
    samples = json.loads((data / "locomo" / "locomo_first5.json").read_text(encoding="utf-8"))
    return [_conversation(sample) for sample in samples]


def _conversation(sample: dict[str, Any]) -> Conversation:
    messages: list[Message] = []
    place: dict[str, int] = {}
    for number in _sessions(sample["conversation"]):
        began = datetime.strptime(
            sample["conversation"][f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y"
        ).replace(tzinfo=UTC)
        for i, turn in enumerate(sample["conversation"][f"session_{number}"]):
            place[turn["dia_id"]] = len(messages)
            caption = turn.get("blip_caption")
            messages.append(
                Message(
                    "user",
                    f"{turn['text']} {caption}" if caption else turn["text"],
                    timestamp=began + timedelta(seconds=30 * i),
                    name=turn["speaker"],
                    session=f"session_{number}",
                    metadata={"turn": turn["dia_id"]},
                )
            )
    questions, unanswerable, malformed = [], [], []
    for item in sample["qa"]:
        named = [turn for text in item["evidence"] for turn in _TURN_ID.findall(text)]
        malformed += [text for text in item["evidence"] if not _TURN_ID.fullmatch(text) or text not in place]
        evidence = tuple(sorted({place[turn] for turn in named if turn in place}))
        question = Question(item["question"], item["category"], evidence)
        if item["category"] == _UNANSWERABLE:
            unanswerable.append(question)
        elif evidence:
            questions.append(question)
    last = messages[-1].timestamp
    assert last is not None
    asked_at = last + timedelta(days=1)
    return Conversation(sample["sample_id"], messages, questions, unanswerable, asked_at, tuple(malformed))


def _sessions(conversation: dict[str, Any]) -> list[int]:
    return sorted(int(match[1]) for key in conversation if (match := re.fullmatch(r"session_(\d+)", key)))
