"""A reader that tests can foretell, in the place of the trained one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch

import nscma_torch.reading.read_statements  # noqa: F401, first imported with a stand-in it would keep that for good
from nscma_torch.reading.reader import ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES, KINDS
from tests.helpers.plain_sentences import read_plainly


class WordReader:
    """Answers with a word wherever it stands; takes every pair of texts for `change`, and keeps what it was asked."""

    def __init__(self, word: str, change: str = "replaces") -> None:
        self.word = word
        self.change = change
        self.questions: list[str] = []
        self.pairs: list[tuple[str, str]] = []

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> list[ReadResult]:
        self.questions += questions
        (own,) = passages
        places = [(i, p.text.index(self.word)) for i, p in enumerate(own) if self.word in p.text]
        spans = tuple(ReadSpan(self.word, i, at, at + len(self.word), True, 0.9) for i, at in places)
        kinds = tuple(float(kind == "span") for kind in KINDS)
        return [ReadResult(spans, 0.9, tuple(float(self.word in p.text) for p in own), kinds)]

    def changes(self, earlier: Sequence[str], later: Sequence[Sequence[InputPassage]]) -> torch.Tensor:
        self.pairs += [(text, own[-1].text) for text, own in zip(earlier, later, strict=True)]
        return torch.tensor([[float(kind == self.change) for kind in CHANGES]] * len(earlier))


class KnowingReader(WordReader):
    """Finds the given effects between texts."""

    def __init__(self, word: str, effects: Mapping[tuple[str, str], str]) -> None:
        super().__init__(word)
        self.effects = effects

    def changes(self, earlier: Sequence[str], later: Sequence[Sequence[InputPassage]]) -> torch.Tensor:
        pairs = [(text.partition(": ")[2], own[-1].text) for text, own in zip(earlier, later, strict=True)]
        kinds = [self.effects.get(pair, "none") for pair in pairs]
        return torch.tensor([[float(kind == own) for kind in CHANGES] for own in kinds])


def put_in_place(reader: WordReader, monkeypatch: pytest.MonkeyPatch, sure: float) -> dict[str, Any]:
    """Has it answer instead of the trained reader; returns the section [reading] for that."""
    monkeypatch.setattr("nscma_torch.reading.reader.shared_reader", lambda *_: reader)
    monkeypatch.setattr("nscma_torch.answering.from_facts.REPLACES", sure)
    read_plainly(monkeypatch)
    return {"model": "bundled", "sure": sure, "answerable": min(sure, 0.1), "hops": 1}
