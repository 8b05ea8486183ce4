"""A benchmark whose samples are changed; all else is as the benchmark has it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from eval.harness.contract import Question, Reply, Sample, Task


class ChangedTask(ABC):
    """A task with other samples under the same ids.

    Args:
        task: the benchmark.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self.name = task.name
        self.metrics = task.metrics

    def ids(self) -> Sequence[str]:
        """As the task's."""
        return self._task.ids()

    @abstractmethod
    def sample(self, id: str) -> Sample:
        """The task's, changed."""

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """As the task does."""
        return self._task.score(question, reply)
