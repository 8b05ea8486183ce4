"""Of several values that the reader finds, the one whose passage changes the best one's is the current one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
import torch
from torch import Tensor

from nscma_torch.answering import reader_qa
from nscma_torch.answering.current_value import SHARE, current_value
from nscma_torch.answering.reader_qa import ReaderQA
from nscma_torch.api.memory import Memory
from nscma_torch.core.config import ReadingConfig
from nscma_torch.core.records import Answer, Message
from nscma_torch.reading.reader import ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES, KINDS
from nscma_torch.reading.unknown_answer import UNKNOWN

DAY = datetime(2026, 3, 1, 9, tzinfo=UTC)
TEXTS = ("Our desk costs 900 a month.", "The desk is 950 from now on.", "Their desk costs 700.")
PASSAGES = [InputPassage(text, "Ana", DAY + timedelta(days=i)) for i, text in enumerate(TEXTS)]
KIND = tuple(float(kind == "span") for kind in KINDS)


class ScriptedReader:
    """Finds the numbers in the order of `shares`, and says how likely each later text changes an earlier one."""

    def __init__(self, shares: dict[str, float], changes: dict[str, float]) -> None:
        self.shares, self.likely = shares, changes
        self.compared: list[tuple[str, str]] = []

    def read(self, _: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> list[ReadResult]:
        (own,) = passages
        spans = [
            ReadSpan(value, i, p.text.index(value), p.text.index(value) + len(value), True, share)
            for value, share in self.shares.items()
            for i, p in enumerate(own)
            if value in p.text
        ]
        return [ReadResult(tuple(spans), 0.95, tuple(0.5 for _ in own), KIND)]

    def changes(self, earlier: Sequence[str], later: Sequence[Sequence[InputPassage]]) -> Tensor:
        self.compared += [(text, own[-1].text) for text, own in zip(earlier, later, strict=True)]
        rows = torch.zeros(len(later), len(CHANGES))
        for row, own in zip(rows, later, strict=True):
            likely = next((p for value, p in self.likely.items() if value in own[-1].text), 0.0)
            row[CHANGES.index("replaces")], row[CHANGES.index("none")] = likely, 1 - likely
        return rows


def chosen(shares: dict[str, float], changes: dict[str, float], trust: Sequence[float] = (1.0, 1.0, 1.0)) -> str | None:
    reader = ScriptedReader(shares, changes)
    (read,) = reader.read([""], [PASSAGES])
    span = current_value(reader, read, PASSAGES, trust)  # type: ignore[arg-type]
    return None if span is None else span.text


def test_the_value_of_a_later_passage_that_changes_the_first_is_current() -> None:
    assert chosen({"900": 0.6, "700": 0.2, "950": 0.1}, {"950": 0.6}) == "950"
    assert chosen({"900": 0.6, "950": 0.1}, {"950": 0.3}) is None, "it is no change"
    assert chosen({"950": 0.6, "900": 0.2}, {"900": 0.9, "950": 0.9}) is None, "an earlier passage changes nothing"
    assert chosen({"900": 0.6, "950": 0.5 * SHARE * 0.6}, {"950": 0.9}) is None, "it is no likely answer"
    assert chosen({}, {}) is None


def test_a_less_trusted_passage_changes_nothing() -> None:
    shares, changes = {"900": 0.6, "950": 0.1}, {"950": 0.9}
    assert chosen(shares, changes, trust=(1.0, 0.8, 1.0)) is None
    assert chosen(shares, changes, trust=(0.8, 0.8, 1.0)) == "950"
    assert chosen(shares, changes, trust=(0.8, 1.0, 1.0)) == "950"


@pytest.mark.parametrize(
    ("question", "answer"), [("What does the desk cost?", "950"), ("What did the desk cost at first?", "900")]
)
def test_ask_tells_the_current_value_and_the_trace_says_why(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, question: str, answer: str
) -> None:
    for name in ("CORRECT", "ANSWERABLE"):
        monkeypatch.setattr(reader_qa, name, {"answerable": 1.0})
    now = DAY + timedelta(days=9)
    for passage in PASSAGES[:2]:
        memory.add([Message("user", passage.text, passage.said_at, "Ana")], user_id="ana", now=now)
    memory.flush()
    reader = ScriptedReader({"900": 0.6, "950": 0.1}, {"950": 0.9})
    qa = ReaderQA(memory._components.database, reader, ReadingConfig(as_good=1.0))  # type: ignore[arg-type]
    hits = memory.search("desk", user_id="ana", now=now)
    told = qa.answer(question, hits, Answer(UNKNOWN, True, 0.0, ()), user_id="ana", now=now)
    assert told.short == answer and told.evidence[0].text == TEXTS[answer == "950"]
    assert ("'900' rejected: passage 2 changes it" in told.trace) == (answer == "950")
    assert reader.compared == ([(f"Ana: {TEXTS[0]}", TEXTS[1])] if answer == "950" else [])
