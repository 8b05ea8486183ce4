"""A benchmark of which each sample is asked fewer questions."""

from __future__ import annotations

from dataclasses import replace

from eval.harness.contract import Sample, Task
from eval.tasks.changed_task import ChangedTask


class FewerQuestions(ChangedTask):
    """A task with at most so many questions to a sample, spread evenly over all of them.

    Args:
        task: the whole benchmark.
        most: questions of a sample.
    """

    def __init__(self, task: Task, most: int) -> None:
        super().__init__(task)
        self._most = most

    def sample(self, id: str) -> Sample:
        """The task's, with the questions that are left."""
        sample = self._task.sample(id)
        count = len(sample.questions)
        if count <= self._most:
            return sample
        return replace(sample, questions=[sample.questions[i * count // self._most] for i in range(self._most)])
