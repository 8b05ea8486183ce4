"""Read messages from many users together, ahead of the jobs that need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from nscma_torch.core.config import Config
from nscma_torch.core.device import torch_device
from nscma_torch.core.errors import NscmaError
from nscma_torch.core.protocols import LanguageTasks
from nscma_torch.core.records import Extraction
from nscma_torch.extraction.read_ahead import Given
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.reading.read_statements import configured_facts
from nscma_torch.reading.relations import load_relations

PACK = 32  # messages that an actor reads before it returns their statements
ASKED = 256  # messages that a language engine is asked about at once

Read = list[tuple[Given, Extraction]]


class BulkReader:
    """Reads packs of messages with the language tasks."""

    def __init__(self, tasks: LanguageTasks) -> None:
        self._tasks = tasks

    @classmethod
    def load(cls, config: Config) -> Self:
        """Build a reader from the configured tasks that need no language model; only the engine's owner calls a
        language model.
        """
        bundled = config.facts.relations == "bundled"
        relations = load_relations(None if bundled else config.facts.relations)
        facts = configured_facts(config.reading, relations, torch_device(config.device))
        return cls(EmbeddedTasks(relations=relations, read_facts=facts))

    def __call__(self, pack: Sequence[Given]) -> Iterator[Read]:
        """Read the statements in a pack's messages; yield nothing if the tasks fail, so that each message fails in its
        own job.
        """
        try:
            made = self._tasks.extract(
                [one.unit for one in pack],
                listeners=[one.listener for one in pack],
                before=[one.before for one in pack],
            )
        except NscmaError:
            return
        yield list(zip(pack, made, strict=True))


def in_packs(given: Sequence[Given], size: int) -> list[Sequence[Given]]:
    """Return the messages in lists of `size` consecutive messages."""
    return [given[at : at + size] for at in range(0, len(given), size)]
