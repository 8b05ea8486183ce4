"""What a configuration's language tasks read: the embedded tasks, or a model behind an engine."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nscma_torch.core.config import load_config
from nscma_torch.core.device import torch_device
from nscma_torch.core.errors import ConfigError, ReplyError
from nscma_torch.core.records import Extraction, Statement, Unit
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.reading.read_statements import configured_facts
from nscma_torch.reading.relations import Schema

_BATCH = 64  # messages that are read at once


class Reader:
    """Reads the statements of messages; see `reader_of`."""

    def __init__(self, tasks: EmbeddedTasks | PromptedTasks) -> None:
        self._tasks = tasks
        self._lost = 0

    def read(
        self, units: Sequence[Unit], listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[tuple[Statement, ...]]:
        """The statements of each unit, read with the turns before it; none where the model's reply is unusable."""
        found: list[Extraction] = []
        for i in range(0, len(units), _BATCH):
            some = slice(i, i + _BATCH)
            found += self._batch(units[some], listeners[some], before[some])
        return [one.statements for one in found]

    def _batch(
        self, units: Sequence[Unit], listeners: Sequence[str], before: Sequence[Sequence[Unit]]
    ) -> list[Extraction]:
        try:
            return self._tasks.extract(units, listeners=listeners, before=before)
        except ReplyError:
            if len(units) == 1:
                self._lost += 1
                return [Extraction()]
        alone = [slice(i, i + 1) for i in range(len(units))]  # the replies that could be used are cached
        return [one for own in alone for one in self._batch(units[own], listeners[own], before[own])]

    def read_surely(
        self, units: Sequence[Unit], listeners: Sequence[str], before: Sequence[Sequence[Unit]], least: float
    ) -> list[tuple[Statement, ...] | None]:
        """The same by the embedded tasks; None for each unit about which they are less sure than `least`."""
        if not isinstance(self._tasks, EmbeddedTasks):
            raise ConfigError("what the reader is sure of is asked of the embedded tasks: give no llm.engine")
        found = self._tasks.extract_surely(units, listeners=listeners, before=before, least=least)
        return [None if one is None else one.statements for one in found]

    def work(self) -> str:
        """What a model's reading cost, and how much of it was dropped; "" for the embedded tasks."""
        if isinstance(self._tasks, EmbeddedTasks):
            return ""
        spent = ", ".join(f"{what} {n:,}" for what, n in self._tasks.tally.items())
        return f"{spent}, messages without a usable reply {self._lost}"


@contextmanager
def reader_of(schema: Schema, config: Path | None) -> Iterator[Reader]:
    """The reader of a configuration's [llm] and [reading] sections; the embedded one without a configuration."""
    settings = load_config(config)
    section, device = settings.llm, torch_device(settings.device)
    engine = choose_engine(section, lambda: device)
    if engine is None:
        read_facts = configured_facts(settings.reading, schema, device)
        yield Reader(EmbeddedTasks(relations=schema, read_facts=read_facts))
        return
    try:
        yield Reader(
            PromptedTasks(
                engine,
                relations=schema,
                max_tokens=section.max_tokens,
                temperature=section.temperature,
                in_context=settings.facts.context == "summary",
            )
        )
    finally:
        engine.close()


def add_config(parser: argparse.ArgumentParser) -> None:
    """The option --config."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="read with the engine of its [llm] section")
