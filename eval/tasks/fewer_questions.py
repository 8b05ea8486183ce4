"""A benchmark of which each sample is asked fewer questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from eval.harness.contract import Question, Reply, Sample, Task


class FewerQuestions:
    """A task with at most so many questions to a sample, spread evenly over all of them.

    Args:
        task: the whole benchmark.
        most: questions of a sample.
    """

    def __init__(self, task: Task, most: int) -> None:
        self._task = task
        self._most = most
        self.name = task.name
        self.metrics = task.metrics

    def ids(self) -> Sequence[str]:
        """As the task's."""
        return self._task.ids()

    def sample(self, id: str) -> Sample:
        """The task's, with the questions that are left."""
        sample = self._task.sample(id)
        count = len(sample.questions)
        if count <= self._most:
            return sample
        return replace(sample, questions=[sample.questions[i * count // self._most] for i in range(self._most)])

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """As the task does."""
        return self._task.score(question, reply)
