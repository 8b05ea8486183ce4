"""Read labelled effects between messages, for training: what a later message takes away from earlier ones.

Two kinds of files:

- `history-NN.json`, the form of `eval/experiments/state/histories.py`. Of its questions, those about ends in time and
  deletions are left out: the texts alone don't decide them.
- `groups-NN.jsonl`, a group per line: `{"speaker", "earlier", "later", "rests"}`. `earlier` lists messages on one
  matter. Each item of `later`, `{"text", "effects"}`, is judged alone, as if the other later ones hadn't been said;
  `effects` maps the numbers of the earlier messages that it changes to the kinds; `speaker` may name another speaker.
  `rests` lists `[a, b]`: what message a tells rests on what message b tells. In the folder `judged`, a group is a pair
  of messages of a chat between which an earlier reader found an effect, mostly wrongly, as was judged by reading them.

Messages are numbered from 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES
from nscma_torch.text.calendar.timestamps import parse_timestamp
from train.reader.dialogue_text import Dialogue, Message, Question


@dataclass(frozen=True, slots=True)
class Later:
    """A message and how it changes earlier ones of its group: places in `StateGroup.earlier` with kinds of `CHANGES`.

    `before` is the number of messages of the group that come before it.
    """

    said: InputPassage
    effects: Mapping[int, str]
    before: int


@dataclass(frozen=True, slots=True)
class StateGroup:
    """Messages on one matter; `rests` has pairs of places in `earlier`, the dependent one first.

    `asked` has the messages of a history with its questions; those that nobody can answer have no gold answer.
    """

    source: str
    earlier: tuple[InputPassage, ...]
    later: tuple[Later, ...]
    rests: tuple[tuple[int, int], ...]
    asked: Dialogue | None = None


def read_state(folder: Path) -> Iterator[StateGroup]:
    """Read the files of a folder and those below it, in the order of their names.

    Raises:
        InvalidInputError: a file doesn't follow its form, or there is none.
    """
    files = sorted([*folder.rglob("history-*.json"), *folder.rglob("groups-*.jsonl")])
    if not files:
        raise InvalidInputError(f"{folder} holds no history-NN.json or groups-NN.jsonl")
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
            if file.suffix == ".json":
                yield _history(json.loads(text), f"{file.parent.name}/{file.stem}")
                continue
            for number, line in enumerate(text.splitlines(), start=1):
                yield _group(json.loads(line), f"{file.parent.name}/{file.stem}:{number}")
        except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{file} does not follow the form of effects: {error!r}") from error


def _history(table: Mapping[str, Any], source: str) -> StateGroup:
    messages = [
        InputPassage(row["content"], row["name"], parse_timestamp(row["timestamp"])) for row in table["messages"]
    ]
    effects: dict[int, dict[int, str]] = {}
    for row in table["effects"]:
        earlier, later = row["earlier"], row["later"]
        if not 1 <= earlier < later <= len(messages):
            raise ValueError(f"message {later} cannot change message {earlier}")
        effects.setdefault(later, {})[earlier - 1] = _kind(row["kind"])
    later = [
        Later(said, effects.get(number, {}), number - 1)
        for number, (said, row) in enumerate(zip(messages, table["messages"], strict=True), start=1)
        if number in effects or (row["role"] == "user" and number > 1)
    ]
    said = [
        Message(row["name"], row["content"], parse_timestamp(row["timestamp"]), row["role"])
        for row in table["messages"]
    ]
    asked = Dialogue(source, "history", said, [_question(row) for row in table["questions"] if _is_in_texts(row)])
    return StateGroup(source, tuple(messages), tuple(later), _pairs(table["rests"], len(messages)), asked)


def _is_in_texts(row: Mapping[str, Any]) -> bool:
    return row.get("like", row["type"]) not in ("until", "deletion")


def _question(row: Mapping[str, Any]) -> Question:
    answer = row["answer"]
    kind = "unanswerable" if answer is None else "single"
    if answer is not None and {wording.casefold() for wording in answer} <= {"yes", "no"}:
        kind = "yesno"
    return Question(
        kind, row["question"], () if answer is None else (tuple(answer),), tuple(row["evidence"]), tuple(row["void"])
    )


def _group(row: Mapping[str, Any], source: str) -> StateGroup:
    speaker = row["speaker"]
    earlier = tuple(InputPassage(text, speaker) for text in row["earlier"])
    later = []
    for said in row["later"]:
        effects = {int(number) - 1: _kind(kind) for number, kind in said["effects"].items()}
        if not all(0 <= place < len(earlier) for place in effects):
            raise ValueError(f"{said['text']!r} changes a message that is not there")
        later.append(Later(InputPassage(said["text"], said.get("speaker", speaker)), effects, len(earlier)))
    return StateGroup(source, earlier, tuple(later), _pairs(row["rests"], len(earlier)))


def _kind(kind: str) -> str:
    if kind not in CHANGES:
        raise ValueError(f"{kind!r} is not a kind of change; known are {', '.join(CHANGES)}")
    return kind


def _pairs(rows: list[list[int]], messages: int) -> tuple[tuple[int, int], ...]:
    for pair in rows:
        if len(set(pair)) != 2 or not all(1 <= number <= messages for number in pair):
            raise ValueError(f"{pair} are not two of the {messages} messages")
    return tuple((a - 1, b - 1) for a, b in rows)
