"""Unrelated text between the messages of a sample, to see what of its evidence is still found.

For each of the sample's own messages there are `noise` others: as many consecutive sentences of a book
(`eval/tasks/background.py`) as make the tokens of one of its own, drawn anew each time, at random places. Each is like
the message before which it stands in role, time and session, but nobody's, and of another document. The sample's own
stay in their order. What is added depends on the seed, the task's name and the sample alone.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.harness.contract import Sample, Task
from eval.tasks.background import Background
from eval.tasks.changed_task import ChangedTask
from eval.tasks.options import NoisyOptions
from nscma_torch.core.records import Message


def strewn(
    messages: Sequence[Message], share: float, books: Background, generator: random.Random
) -> tuple[list[Message], list[int]]:
    """The messages with `share` times as many others among them, and where each of them stands now."""
    count = round(share * len(messages))
    before = sorted(generator.randrange(len(messages) + 1) for _ in range(count))
    mixed: list[Message] = []
    places: list[int] = []
    added = 0
    for place in range(len(messages) + 1):
        near = messages[min(place, len(messages) - 1)]
        while added < count and before[added] == place:
            mixed.append(_noise(near, generator.choice(messages), added, books, generator))
            added += 1
        if place < len(messages):
            places.append(len(mixed))
            mixed.append(near)
    return mixed, places


def _noise(near: Message, like: Message, number: int, books: Background, generator: random.Random) -> Message:
    text = " ".join(books.sample(max(books.count(like.content), 1), generator))
    source = f"noise {number}" if near.source else None
    return Message(near.role, text, near.timestamp, session=near.session, source=source)


def noise_generator(seed: int, task: str, sample: str) -> random.Random:
    """What a sample's noise is drawn from."""
    return random.Random(f"noise {seed} {task} {sample}")


class WithNoise(ChangedTask):
    """A task with unrelated text in its samples. Its score must be of the evidence's places, and of no others.

    Args:
        task: without it.
        section: of the configuration, with `noise` and, where they are not the defaults, the other `NoisyOptions`.
        data: folder of the data, with the books.
    """

    def __init__(self, task: Task, section: Mapping[str, Any], data: Path) -> None:
        super().__init__(task)
        own = {key: section[key] for key in ("noise", "noise_seed", "noise_books") if key in section}
        self._options = NoisyOptions(**own)
        self._books = Background(data / self._options.noise_books)

    def sample(self, id: str) -> Sample:
        """The task's, with other messages among its own, and its evidence where it stands now."""
        sample = self._task.sample(id)
        generator = noise_generator(self._options.noise_seed, self.name, id)
        messages, places = strewn(sample.messages, self._options.noise, self._books, generator)
        questions = [replace(own, evidence=tuple(places[i] for i in own.evidence)) for own in sample.questions]
        return replace(sample, messages=messages, questions=questions)
