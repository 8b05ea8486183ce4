"""Read chats with questions and changes from JSON.

`chat-NN.jsonl` has one message per line: `{"role", "name", "content", "timestamp"}`. `questions-NN.json` beside it is a
list of `{"question", "type", "answer", "evidence", "stale", "said", "all"}`:

- `answer` lists accepted wordings; null if the chat doesn't tell. With `all`, each wording lists all members.
- `evidence` has the numbers of the messages that are needed, from 1.
- `stale` lists outdated values, or values that are easily confused with the answer.
- `said` lists `[number, words]`: the words of the message that carry the answer. It is optional.

`changes-NN.json` is optional, a list of `{"kind", "new", "old", "topic"}`, where `new` and `old` are `[number, words]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.text.calendar.timestamps import parse_timestamp
from train.reader.dialogue_text import CHANGES, Change, Dialogue, DialogueError, Message, Question

_BETWEEN_MEMBERS = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+")


def read_chat(file: Path) -> Dialogue:
    """Read a chat and the files beside it.

    Raises:
        InvalidInputError: the questions are missing, or a file doesn't follow its format.
    """
    beside = _beside(file, "questions")
    if beside == file.with_suffix(".json") or not beside.is_file():
        raise InvalidInputError(f"{file} has no questions: they are expected in questions-NN.json beside chat-NN.jsonl")
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        chat = Dialogue(file.stem, "chat", [_message(row) for row in rows])
        for row in json.loads(beside.read_text(encoding="utf-8")):
            chat.questions.append(_question(row, chat))
        if (changes := _beside(file, "changes")).is_file():
            chat.changes += [_change(row, chat) for row in json.loads(changes.read_text(encoding="utf-8"))]
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{file} or a file beside it does not follow the form: {error!r}") from error
    if not chat.messages:
        raise InvalidInputError(f"{file} has no message")
    return chat


def _beside(file: Path, what: str) -> Path:
    return file.with_name(file.name.replace("chat-", f"{what}-", 1)).with_suffix(".json")


def _message(row: Mapping[str, Any]) -> Message:
    return Message(row["name"], row["content"], parse_timestamp(row["timestamp"]), row["role"])


def _question(row: Mapping[str, Any], chat: Dialogue) -> Question:
    answer, stale = row["answer"], tuple(row["stale"])
    if (answer is None) != (row["type"] == "unanswerable") or answer == []:
        raise DialogueError(f"{row['question']!r} must have a gold answer, or be unanswerable")
    gold, *also = (
        [()] if answer is None else [_members(wording) for wording in answer] if row.get("all") else [(tuple(answer),)]
    )
    evidence = tuple(_number(number, chat) for number in row["evidence"])
    said = tuple(_words(said, chat) for said in row.get("said", ()))
    if not all(words and number in evidence for number, words in said):
        raise DialogueError(f"the words that carry the answer to {row['question']!r} must stand in its evidence")
    return Question(row["type"], row["question"], gold, evidence, stale, said, tuple(also))


def _members(wording: str) -> tuple[tuple[str, ...], ...]:
    return tuple((member,) for member in _BETWEEN_MEMBERS.split(wording))


def _change(row: Mapping[str, Any], chat: Dialogue) -> Change:
    if row["kind"] not in CHANGES:
        raise DialogueError(f"{row['kind']!r} is not a kind of change; known are {', '.join(CHANGES)}")
    (new_number, new), (old_number, old) = (_words(row[name], chat) for name in ("new", "old"))
    if old_number > new_number:
        raise DialogueError(f"the change of {row['topic']!r} must come after the message that it changes")
    return Change(row["kind"], new_number, old_number, row["topic"], old or None, new or None)


def _words(pair: tuple[int, str | None], chat: Dialogue) -> tuple[int, str]:
    number, words = _number(pair[0], chat), pair[1] or ""
    if not chat.says(number, words) and words.casefold() != chat.messages[number - 1].speaker.casefold():
        raise DialogueError(f"message {number} does not say {words!r} word for word")
    return number, words


def _number(number: int, chat: Dialogue) -> int:
    if not 1 <= number <= len(chat.messages):
        raise DialogueError(f"{number} is none of the {len(chat.messages)} messages")
    return number
