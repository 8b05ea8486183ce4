"""Each wrong answer is counted at the first stage at which it was lost."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from eval.experiments.reading.lost_answers import Lost, _stage, table
from nscma_torch.answering.reader_qa import ReadHits
from nscma_torch.core.config import ReadingConfig
from nscma_torch.core.records import Answer, Usage
from nscma_torch.reading.reader import ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import KINDS, STANCES
from nscma_torch.search.query import parse
from train.reader.dialogue_text import Question

_TEXTS = ("still at the bakery", "i'm behind Tom's counter since monday, and the tram is blue")
_WORKS = Question(
    "current", "Where do I work?", (("Tom's shop", "Tom's counter"),), (2,), ("the bakery",), ((2, "Tom's counter"),)
)
_HOLDS = Question("yesno", "Do I still bake?", (("no",),), (2,), (), ((2, "Tom's counter"),))
_NOW = datetime(2025, 5, 1, tzinfo=UTC)


def _read(*words: str, kind: str = "span") -> ReadHits:
    spans = []
    for place, text in enumerate(words):
        passage = next(i for i, said in enumerate(_TEXTS) if text in said)
        start = _TEXTS[passage].index(text)
        spans.append(ReadSpan(text, passage, start, start + len(text), True, 0.5**place))
    kinds = tuple(float(name == kind) for name in KINDS)
    result = ReadResult(tuple(spans), 0.9, (0.1, 0.9), kinds, tuple(float(i == 0) for i in range(len(STANCES))))
    passages = [InputPassage(text, "Ada", _NOW) for text in _TEXTS]
    return ReadHits(parse("Where do I work?", names=(), now=_NOW), [], passages, result, "Ada")


def _answer(short: str) -> Answer:
    return Answer(short or "I don't know", not short, 0.5, (), (), Usage())


@pytest.mark.parametrize(
    ("question", "read", "told", "heard", "stage"),
    [
        (_WORKS, _read("Tom's counter"), "Tom's counter", {1, 2}, "right"),
        (_WORKS, _read("the bakery"), "the bakery", {1}, "search"),
        (_WORKS, _read("the bakery", kind="no"), "no", {1, 2}, "type"),
        (_HOLDS, _read("the bakery"), "the bakery", {1, 2}, "type"),
        (_HOLDS, _read("the bakery", kind="yes"), "yes", {1, 2}, "verdict"),
        (_WORKS, _read("the tram", "blue"), "the tram", {1, 2}, "span"),
        (_WORKS, _read("the bakery", "Tom's counter"), "the bakery", {1, 2}, "currency"),
        (_WORKS, _read("the tram", "Tom's counter"), "the tram", {1, 2}, "choice"),
        (_WORKS, _read("counter"), "counter", {1, 2}, "wording"),
        (_WORKS, _read("Tom's counter"), "the bakery", {1, 2}, "facts"),
        (_WORKS, _read("Tom's counter"), "", {1, 2}, "threshold"),
    ],
)
def test_the_first_stage_that_fails_is_named(
    question: Question, read: ReadHits, told: str, heard: set[int], stage: str
) -> None:
    settings = ReadingConfig(as_good=1.0)
    assert _stage(question, read, heard, _answer(told), settings) == stage


def test_a_table_has_a_row_for_each_type_and_one_for_all() -> None:
    rows = [
        Lost("kim", "chat-01", kind, "?", "-", "", stage) for kind, stage in (("when", "search"), ("list", "right"))
    ]
    printed = table(rows, "type")
    assert printed.row_count == 3
    assert list(printed.columns[0].cells) == ["list", "when", "all"]
    assert list(printed.columns[2].cells) == ["1.000", "0.000", "0.500"]
