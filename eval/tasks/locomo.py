"""LoCoMo (Maharana et al. 2024): conversations of many dated sessions, questions with the turns that hold their
evidence.

Malformed evidence ids are reported, not guessed: an id that is no turn of its conversation is dropped, and a question
without any valid id is left out of recall.

With `sessions = N` a sample is not a conversation but so many consecutive sessions of it, the last of them maybe fewer,
with the questions whose evidence lies wholly within, places counted from its first turn. Its half is that of its
conversation, so that what was tuned on even conversations is still claimed for odd ones alone.

Scores as in snap-research/locomo, task_eval/evaluation.py @ 92286325, see `eval/metrics/answer_metrics.py`. An
unanswerable question (category 5) is right where the system abstains; "F1" is then 1. Recall there is of all turns that
were retrieved; here of the first k places.

`flagged` leaves out what the audit dial481/locomo-audit @ ded8d0f0 found wrong, read from its folder `audit/`, which is
CC BY-NC 4.0 as LoCoMo is and so not part of this repository: questions whose answer it calls wrong, incomplete or
ambiguous, and, of those whose answer it calls right, the evidence where it finds another turn to be it. Of the first
five conversations it flags 51 questions so, and the evidence of 34.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness import contract
from eval.metrics.answer_metrics import evidence_recall, locomo_abstained, locomo_f1
from eval.tasks.items import in_turn, whole
from eval.tasks.options import NoisyOptions, read_options
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message

FILE = "locomo/locomo_first5.json"
_TURN_ID = re.compile(r"D\d+:\d+")
_FLAGGED = re.compile(r"locomo_(\d+)_qa\d+")
_RIGHT = "WRONG_CITATION"  # what the audit says of a question whose answer is right, and its evidence is not
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


def _flags(folder: Path) -> dict[tuple[int, str], str]:
    """What the audit says of the questions that it flags, by the number of the conversation and the text.

    Raises `ConfigError` where the folder holds none of its files, or others.
    """
    paths = sorted(folder.glob("errors_conv_*.json"))
    if not paths:
        raise ConfigError(f"{folder} holds no errors_conv_N.json; put the audit's files there, or leave flagged empty")
    flags: dict[tuple[int, str], str] = {}
    for item in (item for path in paths for item in json.loads(path.read_text(encoding="utf-8"))):
        match = _FLAGGED.fullmatch(item["question_id"])
        if match is None:
            raise ConfigError(f"{folder} names a question {item['question_id']!r}; locomo_0_qa1 is the audit's form")
        flags[int(match[1]), item["question"]] = item["error_type"]
    return flags


def windows(talk: Conversation, sessions: int) -> tuple[list[Conversation], tuple[str, ...]]:
    """So many consecutive sessions at a time, those that any question is about, and what to say of other questions."""
    order = {name: i // sessions for i, name in enumerate(dict.fromkeys(own.session for own in talk.messages))}
    window = [order[message.session] for message in talk.messages]
    parts = []
    for number in range(max(window) + 1):
        start, end = window.index(number), len(window) - window[::-1].index(number)
        own = [_moved(asked, start) for asked in talk.asked if _within(asked, start, end)]
        if own:
            last = talk.messages[end - 1].timestamp
            assert last is not None
            name, asked_at = f"{talk.name}.{number}", last + timedelta(days=1)
            said = talk.messages[start:end]
            parts.append(replace(talk, name=name, messages=said, asked_at=asked_at, asked=tuple(own)))
    left_over = [asked.text for asked in talk.asked if len({window[place] for place in asked.evidence}) != 1]
    return parts, tuple(f"{talk.name}: its evidence is in no one window: {text}" for text in left_over)


def _within(asked: Question, start: int, end: int) -> bool:
    return bool(asked.evidence) and start <= min(asked.evidence) and max(asked.evidence) < end


def _moved(asked: Question, start: int) -> Question:
    return replace(asked, evidence=tuple(place - start for place in asked.evidence))


class LocomoOptions(NoisyOptions):
    """Options of LoCoMo."""

    file: str = Field(FILE, description="In the folder of the data; a list of conversations as published.")
    categories: tuple[Literal[1, 2, 3, 4, 5], ...] = Field(
        (1, 2, 3, 4, 5), description="1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial."
    )
    flagged: str = Field(
        "", description="Folder of the audit's errors_conv_N.json, in that of the data: what it flags is left out."
    )
    sessions: int = Field(0, ge=0, description="Consecutive sessions of a sample; 0 for whole conversations.")


class Locomo:
    """LoCoMo's questions, a conversation a sample, or some of its sessions."""

    metrics: tuple[str, ...] = ("F1", "recall@5", "recall@10")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(LocomoOptions(), section)
        self._categories = options.categories
        self._talks = {talk.name: talk for talk in load(data, options.file)}
        names = dict(enumerate(self._talks))
        flags = _flags(data / options.flagged) if options.flagged else {}
        self._flags = {(names[number], text): said for (number, text), said in flags.items() if number in names}
        self.name = options.name or "LoCoMo"
        known = {(talk.name, asked.text) for talk in self._talks.values() for asked in talk.asked}
        self.malformed = (
            *(f"{talk.name}: {item}" for talk in self._talks.values() for item in talk.malformed),
            *(f"{name}: flagged, but not asked: {text}" for name, text in self._flags if (name, text) not in known),
        )
        self._conversation = {name: name for name in self._talks}  # of each sample
        self._ids: Sequence[str] = list(self._talks)
        if options.sessions:
            self._cut(options.sessions)

    def _cut(self, sessions: int) -> None:
        """Windows in the place of conversations, the first of each before the second of any."""
        talks = list(self._talks.values())
        asked = [
            replace(talk, asked=tuple(own for own in talk.asked if self._wanted(talk.name, own))) for talk in talks
        ]
        cut = [windows(talk, sessions) for talk in asked]
        self._talks = {part.name: part for parts, _ in cut for part in parts}
        pairs = zip(talks, cut, strict=True)
        self._conversation = {part.name: talk.name for talk, (parts, _) in pairs for part in parts}
        rounds = zip_longest(*(parts for parts, _ in cut))
        numbered = ((i, part.name) for parts in rounds for i, part in enumerate(parts) if part is not None)
        self._ids, left_over = in_turn(numbered)
        self.malformed += (*(item for _, items in cut for item in items), *left_over)

    def _said(self, conversation: str, asked: Question) -> str:
        """By the audit; "" where it says nothing."""
        return self._flags.get((conversation, asked.text), "") if asked.category != _UNANSWERABLE else ""

    def _wanted(self, conversation: str, asked: Question) -> bool:
        return asked.category in self._categories and self._said(conversation, asked) in ("", _RIGHT)

    def ids(self) -> Sequence[str]:
        """Names of the conversations, with the numbers of their windows where there are any."""
        return self._ids

    def sample(self, id: str) -> contract.Sample:
        """A conversation or window with its questions of the categories that are asked for, without what is flagged."""
        talk, conversation = self._talks[id], self._conversation[id]
        questions = []
        for i, asked in enumerate(talk.asked):
            if self._wanted(conversation, asked):
                answers = (asked.answer,) if asked.answer else ()
                evidence = () if self._said(conversation, asked) else asked.evidence
                questions.append(contract.Question(f"q{i}", asked.text, answers, str(asked.category), evidence))
        return contract.Sample(id, talk.messages, questions, talk.asked_at)

    def score(self, question: contract.Question, reply: contract.Reply) -> Mapping[str, float]:
        """F1, or whether it abstained where there is no answer; recall of evidence where there is one."""
        if not question.answers:
            return {"F1": max(float(reply.abstained), locomo_abstained(reply.text))}
        (answer,) = question.answers
        right = locomo_f1(reply.text, answer, int(question.category))
        return {"F1": right, **evidence_recall(question.evidence, reply.evidence)}
