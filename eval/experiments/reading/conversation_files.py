"""Conversations with questions, of two forms of file.

`chat-NN.jsonl` holds a message a line, `{"role", "name", "content", "timestamp"}`, and `questions-NN.json` beside it a
list of `{"question", "answer", "type", "evidence", "stale", "all"?}`: `answer` is the gold answer and its other
wordings, null where the conversation does not tell; `evidence` are line numbers from 1; with `all` a wording lists
members ("Joe, Ella"), which are all needed. `*.txt` holds dialogues in the format of `train/reader/dialogue_text.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Message
from nscma_torch.demo.short_answers import Gold
from nscma_torch.text.calendar.timestamps import parse_timestamp
from train.reader.dialogue_text import Dialogue, read_dialogues

_MOMENT = timedelta(minutes=1)
_BETWEEN_MEMBERS = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+")
_ASSISTANT = re.compile(r"(?:.*\s)?(?:(?:\w+-?)?assistant|agent|support|ai|\w*bot|\w*desk)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence` are places in the conversation's messages, from 0; none for an unanswerable question."""

    type: str
    text: str
    gold: Gold
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in the order of their time, and the questions that its first speaker asks after the last one."""

    name: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]

    @property
    def user(self) -> str:
        """Name of the first speaker."""
        return self.messages[0].name or "user"

    @property
    def asked_at(self) -> datetime:
        """A moment after the last message."""
        return parse_timestamp(self.messages[-1].timestamp) + _MOMENT


def load(paths: Sequence[Path]) -> list[Conversation]:
    """The conversations of files, and of folders with those in folders below, in the order of their names.

    Raises:
        InvalidInputError: a path that holds none, or a chat without questions or with wrong ones.
        DialogueError: a text file that does not follow its format.
    """
    conversations = []
    for path in paths:
        files = sorted([*path.rglob("chat-*.jsonl"), *path.rglob("*.txt")]) if path.is_dir() else [path]
        found = [conversation for file in files for conversation in _read(file)]
        if not found:
            raise InvalidInputError(f"{path} holds no conversation: name chat-NN.jsonl or *.txt, or a folder of them")
        conversations += found
    return conversations


def _read(file: Path) -> Iterator[Conversation]:
    if not file.is_file():
        raise InvalidInputError(f"there is no file or folder {file}")
    if file.suffix == ".jsonl":
        yield _chat(file)
    elif file.suffix == ".txt":
        for dialogue in read_dialogues(file):
            if dialogue.messages:
                yield _of_dialogue(dialogue)
    else:
        raise InvalidInputError(f"{file} is neither chat-NN.jsonl nor a dialogue in *.txt")


def _chat(file: Path) -> Conversation:
    beside = file.with_name(file.name.replace("chat-", "questions-", 1)).with_suffix(".json")
    if beside == file.with_suffix(".json") or not beside.is_file():
        raise InvalidInputError(f"{file} has no questions: they are expected in questions-NN.json beside chat-NN.jsonl")
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        messages = tuple(
            Message(row["role"], row["content"], parse_timestamp(row["timestamp"]), name=row["name"]) for row in rows
        )
        asked = json.loads(beside.read_text(encoding="utf-8"))
        questions = tuple(_question(row, len(messages)) for row in asked)
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{file} or {beside.name} does not follow the form: {error!r}") from error
    if not messages:
        raise InvalidInputError(f"{file} has no message")
    return Conversation(file.stem, messages, questions)


def _question(row: Mapping[str, Any], messages: int) -> Question:
    answer, stale = row["answer"], tuple(row["stale"])
    if answer is None:
        answers: tuple[tuple[tuple[str, ...], ...], ...] = ()
    elif row.get("all"):
        answers = tuple(tuple((member,) for member in _BETWEEN_MEMBERS.split(wording)) for wording in answer)
    else:
        answers = ((tuple(answer),),)
    evidence = tuple(number - 1 for number in row["evidence"])
    if not all(0 <= place < messages for place in evidence):
        raise ValueError(f"evidence of {row['question']!r} is none of the {messages} messages")
    if (answer is None) != (row["type"] == "unanswerable") or answer == []:
        raise ValueError(f"{row['question']!r} must have a gold answer, or be unanswerable")
    return Question(row["type"], row["question"], Gold(answers, stale, yes_no=row["type"] == "yesno"), evidence)


def _of_dialogue(dialogue: Dialogue) -> Conversation:
    first = dialogue.messages[0].speaker
    messages = tuple(
        Message(
            "assistant" if said.speaker != first and is_assistant(said.speaker) else "user",
            said.text,
            parse_timestamp(said.said_at),
            name=said.speaker,
        )
        for said in dialogue.messages
    )
    questions = tuple(
        Question(
            asked.type,
            asked.text,
            Gold((asked.gold,) if asked.gold else (), asked.stale, yes_no=asked.type == "yesno"),
            tuple(number - 1 for number in asked.evidence),
        )
        for asked in dialogue.questions
    )
    return Conversation(dialogue.id, messages, questions)


def is_assistant(speaker: str) -> bool:
    """Whether a speaker is named as an assistant, agent, bot or desk, not as a person."""
    return _ASSISTANT.fullmatch(speaker) is not None
