"""Labelled inputs of language tasks, and replies to them.

A case is a JSON object with an `id`: a line of `eval/data/language_tasks/{dev,test}/*.jsonl`, or one of `EvidenceHits`.
A message in it is `{"by", "day", "text"}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eval.experiments.model.recording_engine import RecordedRequest
from eval.reporting.results import read_lines
from nscma_torch.core.errors import InvalidInputError, MalformedInputError
from nscma_torch.core.records import Hit, Scope, ToldFact, Unit

Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LabelledReply:
    """A task's reply to a case.

    Attributes:
        system: the model's name, or "embedded".
        reply: JSON-serialisable; None if unusable.
        error: the reason why it is unusable, or "".
        requests: sent to the model for this case.
    """

    system: str
    set: str
    task: str
    case: Case
    reply: Any
    error: str
    requests: tuple[RecordedRequest, ...] = ()


def read_replies(path: Path) -> Iterator[LabelledReply]:
    """Yield the replies in a file, if there is one. Raises `MalformedInputError` for a line that isn't a reply."""
    for number, line in read_lines(path):
        try:
            row = json.loads(line)
            requests = tuple(RecordedRequest(**one) for one in row.pop("requests"))
            yield LabelledReply(**row, requests=requests)
        except (ValueError, TypeError, KeyError) as error:
            raise MalformedInputError(f"this is no reply, delete it from {path}: {error!r}", line=number) from error


def read_cases(path: Path) -> dict[str, Case]:
    """Return the cases of a file by id. Raises `InvalidInputError` if there is none, or ids occur twice."""
    if not path.is_file():
        raise InvalidInputError(f"there are no labelled cases at {path}")
    cases = [json.loads(line) for _, line in read_lines(path) if line.strip()]
    by_id = {case["id"]: case for case in cases}
    if len(by_id) < len(cases):
        raise InvalidInputError(f"ids occur twice in {path}")
    return by_id


def unit(message: Case) -> Unit:
    """Return a message as a unit; equal messages have the same id."""
    at = datetime.fromisoformat(message["day"]).replace(hour=9, tzinfo=UTC)
    id_ = f"{message['by']}, {message['day']}: {message['text']}"
    return Unit(id_, Scope("user"), "chunk", message["text"], (id_,), at, name=message["by"])


def told_fact(id_: str, told: Case) -> ToldFact:
    """Return a fact with the message that states it."""
    return ToldFact(id_, told["fact"], unit(told["said"]))


def hits_of(case: Case) -> list[Hit]:
    """Return the hits, whose scores fall with their place if the case has none."""
    return [Hit(unit(one), one.get("score", 1 - place / 10)) for place, one in enumerate(case["hits"])]
