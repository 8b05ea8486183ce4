"""Histories whose questions ask for the state of things: what no longer holds, was deleted, or was never told.

A history is a JSON file `{"domain", "messages", "deletions", "questions"}`:

- `messages`: `{"role", "name", "content", "timestamp"}` in order of time; the first speaker owns the memory and asks.
- `deletions`: `{"after", "message"}`, numbers of messages from 1: after the one, the owner deletes the other. With
  `"said": true` the message `after` asks for it in words.
- `questions`: `{"question", "type", "asked_at", "answer", "void", "evidence"}`. `answer` lists accepted wordings; null
  if nobody can know. `void` lists values that would be wrong. A "control" has the type that it resembles in
  `like`; a "cascade" has `depth`, the steps from what ended to what is asked, and `link`, "said" or "implied".

`eval/data/state` has two development and three test authors. Histories for training (`train/reader/state`) also have
`effects`, `{"earlier", "later", "kind"}`: how a later message changes what an earlier one told, and `rests`, pairs of
messages: what the first tells rests on what the second tells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Message
from nscma_torch.demo.short_answers import Gold
from nscma_torch.text.calendar.timestamps import parse_timestamp

TYPES = ("cascade", "condition", "until", "absence", "deletion", "update", "control")


@dataclass(frozen=True, slots=True)
class Deletion:
    """After message number `after`, message number `message` is deleted; `said` if a message asks for it in words."""

    after: int
    message: int
    said: bool = False


@dataclass(frozen=True, slots=True)
class StateQuestion:
    """One question; `gold` has no answer if nobody can know, and the wrong values as stale ones.

    Attributes:
        like: for a control, the type that it resembles; else its own type.
        depth: for a cascade, the steps from what ended to what is asked; else 0.
        link: for a cascade, whether the dependence is "said" or "implied"; else "".
    """

    type: str
    text: str
    asked_at: datetime
    gold: Gold
    like: str
    depth: int = 0
    link: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """`author` is the name of the folder that holds the file."""

    author: str
    name: str
    messages: tuple[Message, ...]
    deletions: tuple[Deletion, ...]
    questions: tuple[StateQuestion, ...]

    @property
    def user(self) -> str:
        """Return the name of the first speaker."""
        return self.messages[0].name or "user"


def load(paths: Sequence[Path]) -> list[History]:
    """Read the histories in files and folders, in the order of their names.

    Raises:
        InvalidInputError: a path without histories, or a file that doesn't follow the form.
    """
    found = []
    for path in paths:
        files = sorted(path.rglob("history-*.json")) if path.is_dir() else [path]
        if not files:
            raise InvalidInputError(f"{path} holds no history-NN.json")
        found += [_read(file) for file in files]
    return found


def _read(file: Path) -> History:
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        messages = tuple(
            Message(row["role"], row["content"], parse_timestamp(row["timestamp"]), name=row["name"])
            for row in table["messages"]
        )
        deletions = tuple(Deletion(row["after"], row["message"], row.get("said", False)) for row in table["deletions"])
        for deletion in deletions:
            if not 1 <= deletion.message < deletion.after <= len(messages):
                raise ValueError(f"{deletion} is not of two of the {len(messages)} messages in their order")
        return History(file.parent.name, file.stem, messages, deletions, tuple(map(_question, table["questions"])))
    except (OSError, json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{file} does not follow the form of a history: {error!r}") from error


def _question(row: Mapping[str, Any]) -> StateQuestion:
    kind, answer = row["type"], row["answer"]
    if kind not in TYPES:
        raise ValueError(f"{kind!r} is not a type of question; known are {', '.join(TYPES)}")
    verdicts = {wording.casefold() for wording in answer or ()}
    yes_no = bool(verdicts) and verdicts <= {"yes", "no"}
    gold = Gold(((tuple(answer),),) if answer else (), tuple(row["void"]), yes_no=yes_no)
    return StateQuestion(
        kind,
        row["question"],
        parse_timestamp(row["asked_at"]),
        gold,
        row.get("like", kind),
        row.get("depth", 0),
        row.get("link", ""),
    )
