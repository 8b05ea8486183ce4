# eval/systems/last_mention.py
"""The newest messages that share a word with the question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field

from eval.harness.contract import Cost, Passage, Reply, Shared
from eval.systems.options import options_of
from nscma_torch.core.config import Section
from nscma_torch.core.records import Message


class LastMentionOptions(Section):
    """Options of kind last-mention."""

    top_k: int = Field(2, gt=0, description="Messages that are read.")


class LastMentionSession:
    """State for one sample."""

    def __init__(self, shared: Shared, top_k: int) -> None:
        self._shared, self._top_k = shared, top_k
        self._passages: list[Passage] = []

    def read(self, messages: Sequence[Message]) -> Cost:
        self._passages = [Passage(place, message, message.content) for place, message in enumerate(messages)]
        return Cost()

    def ask(self, question: str, *, options: Sequence[str], now: datetime) -> Reply:
        words = set(question.lower().strip("?").split())
        found = [passage for passage in reversed(self._passages) if words & set(passage.text.lower().split())]
        reply = self._shared.reader.answer(question, found[: self._top_k], options=options, now=now)
        return replace(reply, evidence=tuple(passage.place for passage in found[: self._top_k]))

    def store_bytes(self) -> int:
        return sum(len(passage.text.encode()) for passage in self._passages)


class LastMention:
    """The system."""

    def __init__(self, name: str, shared: Shared, top_k: int) -> None:
        self.name = name
        self._shared, self._top_k = shared, top_k

    @contextmanager
    def open(self, folder: Path) -> Iterator[LastMentionSession]:  # noqa: ARG002 - it keeps nothing on disk
        yield LastMentionSession(self._shared, self._top_k)


def make_last_mention(section: Mapping[str, Any], shared: Shared) -> LastMention:
    """Kind last-mention."""
    options = options_of(LastMentionOptions(), section)
    return LastMention(section["name"], shared, options.top_k)
