"""Conversations with questions, of two forms of file.

`chat-NN.jsonl` with `questions-NN.json` beside it has the format of `train/reader/chat_files.py`, and `*.txt` that of
`train/reader/dialogue_text.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Message
from nscma_torch.demo.short_answers import Gold
from nscma_torch.text.calendar.timestamps import parse_timestamp
from train.reader.chat_files import read_chat
from train.reader.dialogue_text import Dialogue, read_dialogues
from train.reader.dialogue_text import Question as LabelledQuestion

_MOMENT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence` are places in the conversation's messages, from 0; none for an unanswerable question."""

    type: str
    text: str
    gold: Gold
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in the order of their time, and the questions that its first speaker asks after the last one.

    `author` is the name of the folder that holds the file, or "" if it is unknown.
    """

    name: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]
    author: str = ""

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
        yield of_dialogue(read_chat(file), file.parent.name)
    elif file.suffix == ".txt":
        for dialogue in read_dialogues(file):
            if dialogue.messages:
                yield of_dialogue(dialogue, file.parent.name)
    else:
        raise InvalidInputError(f"{file} is neither chat-NN.jsonl nor a dialogue in *.txt")


def of_dialogue(dialogue: Dialogue, author: str = "") -> Conversation:
    """Return a labelled dialogue as a conversation."""
    messages = tuple(
        Message(said.role, said.text, parse_timestamp(said.said_at), name=said.speaker) for said in dialogue.messages
    )
    questions = tuple(
        Question(asked.type, asked.text, gold_of(asked), tuple(number - 1 for number in asked.evidence))
        for asked in dialogue.questions
    )
    return Conversation(dialogue.id, messages, questions, author)


def gold_of(asked: LabelledQuestion) -> Gold:
    """Return the accepted answers to a labelled question."""
    return Gold((asked.gold, *asked.also) if asked.gold else (), asked.stale, yes_no=asked.type == "yesno")
