"""What a configuration's language tasks read: the embedded reader, or a model behind an engine."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nscma_torch.config import load_config
from nscma_torch.device import torch_device
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.reading.statements import statement_reader
from nscma_torch.records import Statement, Unit
from nscma_torch.relations import Schema

_BATCH = 64  # messages that a model is asked about at once


class Reader:
    """Reads the statements of messages; see `reader_of`."""

    def __init__(self, schema: Schema, tasks: PromptedTasks | None) -> None:
        self._schema = schema
        self._tasks = tasks

    def read(self, units: Sequence[Unit], listeners: Sequence[str]) -> list[tuple[Statement, ...]]:
        """The statements of each unit."""
        if self._tasks is None:
            reader = statement_reader(self._schema)
            return [reader.read(unit, listener) for unit, listener in zip(units, listeners, strict=True)]
        found = []
        for i in range(0, len(units), _BATCH):
            found += self._tasks.extract(units[i : i + _BATCH], listeners=listeners[i : i + _BATCH])
        return [one.statements for one in found]

    def work(self) -> str:
        """What a model's reading cost, and how much of it was dropped; "" for the embedded reader."""
        return "" if self._tasks is None else ", ".join(f"{what} {n:,}" for what, n in self._tasks.tally.items())


@contextmanager
def reader_of(schema: Schema, config: Path | None) -> Iterator[Reader]:
    """The reader of a configuration's [llm] section; the embedded one without a configuration."""
    settings = load_config(config)
    section = settings.llm
    engine = choose_engine(section, lambda: torch_device(settings.device))
    if engine is None:
        yield Reader(schema, None)
        return
    try:
        tasks = PromptedTasks(engine, relations=schema, max_tokens=section.max_tokens, temperature=section.temperature)
        yield Reader(schema, tasks)
    finally:
        engine.close()


def add_config(parser: argparse.ArgumentParser) -> None:
    """The option --config."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="read with the engine of its [llm] section")
