"""LoCoMo (Maharana et al. 2024): conversations of many dated sessions, questions with the turns that hold their
evidence.

Malformed evidence ids are reported, not guessed: an id that is no turn of its conversation is dropped, and a question
without any valid id is left out of recall.

Scores as in snap-research/locomo, task_eval/evaluation.py @ 92286325, see `eval/metrics/answer_metrics.py`. An
unanswerable question (category 5) is right where the system abstains; "F1" is then 1. Recall there is of all turns that
were retrieved; here of the first k places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness import contract
from eval.metrics.answer_metrics import evidence_recall, locomo_abstained, locomo_f1
from eval.tasks.items import whole
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.records import Message

FILE = "locomo/locomo_first5.json"
_TURN_ID = re.compile(r"D\d+:\d+")
_UNANSWERABLE = 5  # category of the adversarial questions


@dataclass(frozen=True)
class Question:
    """`evidence` are places in the conversation's messages; empty for an unanswerable question, as is `answer`."""

    text: str
    category: int
    evidence: tuple[int, ...]
    answer: str = ""


@dataclass(frozen=True)
class Conversation:
    """One conversation; `asked_at` is a day after its last session, `asked` are all questions in file order."""

    name: str
    messages: list[Message]
    questions: list[Question]
    unanswerable: list[Question]
    asked_at: datetime
    malformed: tuple[str, ...]
    asked: tuple[Question, ...] = ()


def load(data: Path, file: str = FILE) -> list[Conversation]:
    """All conversations of `data`, in file order; even ones (0-based) are for tuning, odd ones for claims."""
    samples = json.loads((data / file).read_text(encoding="utf-8"))
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
    items, malformed = whole(sample["qa"], ("question", "category", "evidence"), "question")
    questions, unanswerable, asked = [], [], []
    for item in items:
        named = [turn for text in item["evidence"] for turn in _TURN_ID.findall(text)]
        malformed += [text for text in item["evidence"] if not _TURN_ID.fullmatch(text) or text not in place]
        evidence = tuple(sorted({place[turn] for turn in named if turn in place}))
        answer = "" if item["category"] == _UNANSWERABLE else str(item.get("answer", ""))
        question = Question(item["question"], item["category"], evidence, answer)
        if answer or item["category"] == _UNANSWERABLE:
            asked.append(question)
        else:
            malformed.append(f"no answer: {item['question']}")
        if item["category"] == _UNANSWERABLE:
            unanswerable.append(question)
        elif evidence:
            questions.append(question)
    last = messages[-1].timestamp
    assert last is not None
    asked_at = last + timedelta(days=1)
    return Conversation(
        sample["sample_id"], messages, questions, unanswerable, asked_at, tuple(malformed), tuple(asked)
    )


def _sessions(conversation: dict[str, Any]) -> list[int]:
    return sorted(int(match[1]) for key in conversation if (match := re.fullmatch(r"session_(\d+)", key)))


class LocomoOptions(TaskOptions):
    """Options of LoCoMo."""

    file: str = Field(FILE, description="In the folder of the data; a list of conversations as published.")
    categories: tuple[Literal[1, 2, 3, 4, 5], ...] = Field(
        (1, 2, 3, 4, 5), description="1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial."
    )


class Locomo:
    """LoCoMo's questions, a conversation a sample."""

    metrics: tuple[str, ...] = ("F1", "recall@5", "recall@10")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(LocomoOptions(), section)
        self._categories = options.categories
        self._talks = {talk.name: talk for talk in load(data, options.file)}
        self.name = options.name or "LoCoMo"
        self.malformed = tuple(f"{talk.name}: {item}" for talk in self._talks.values() for item in talk.malformed)

    def ids(self) -> Sequence[str]:
        """Names of the conversations."""
        return list(self._talks)

    def sample(self, id: str) -> contract.Sample:
        """One conversation with its questions of the categories that are asked for."""
        talk = self._talks[id]
        questions = [
            contract.Question(
                f"q{i}", asked.text, (asked.answer,) if asked.answer else (), str(asked.category), asked.evidence
            )
            for i, asked in enumerate(talk.asked)
            if asked.category in self._categories
        ]
        return contract.Sample(id, talk.messages, questions, talk.asked_at)

    def score(self, question: contract.Question, reply: contract.Reply) -> Mapping[str, float]:
        """F1, or whether it abstained where there is no answer; recall of evidence where there is one."""
        if not question.answers:
            return {"F1": max(float(reply.abstained), locomo_abstained(reply.text))}
        (answer,) = question.answers
        right = locomo_f1(reply.text, answer, int(question.category))
        return {"F1": right, **evidence_recall(question.evidence, reply.evidence)}
