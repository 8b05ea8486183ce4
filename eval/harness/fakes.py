"""Stand-ins for the parts of a memory that a program does not measure, and a meter for one that it does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from nscma_torch.core.protocols import LanguageTasks
from nscma_torch.core.records import Answer, AskedQuestion, Extraction, Hit, Unit


@dataclass(frozen=True)
class _Indifferent:
    nll: list[torch.Tensor]
    state: bytes
    ends: None = None


class IndifferentSurpriseModel:
    """A `SurpriseModel` without a model: one nat for every byte, and no state to carry."""

    fingerprint = "indifferent"

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[_Indifferent]:
        """One nat for each byte and the end of each message."""
        assert len(streams) == len(states)
        return [_Indifferent([torch.ones(len(text.encode()) + 1) for text in texts], b"") for texts in streams]


class MeteredTasks:
    """`LanguageTasks` that extracts no facts, and counts and times the summaries.

    Args:
        clock: gives the seconds.

    Attributes:
        calls: groups summarised so far: what a language model would be called for.
        seconds: spent in `summarize`.
    """

    def __init__(self, tasks: LanguageTasks, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._tasks = tasks
        self._clock = clock
        self.calls = 0
        self.seconds = 0.0

    def extract(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]] = (),  # noqa: ARG002
    ) -> list[Extraction]:
        """No facts."""
        return [Extraction() for _ in zip(units, listeners, strict=True)]

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        """As the tasks that are measured."""
        began = self._clock()
        texts = self._tasks.summarize(groups)
        self.seconds += self._clock() - began
        self.calls += len(groups)
        return texts

    def answer(self, question: AskedQuestion, hits: Sequence[Hit]) -> Answer:
        """As the tasks that are measured."""
        return self._tasks.answer(question, hits)
