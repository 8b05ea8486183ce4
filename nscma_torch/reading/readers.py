"""Create the configured trained readers and the embedded tasks that use them, each on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nscma_torch.core.config import Config, EmbedderConfig
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.protocols import Embedder
from nscma_torch.reading.relations import Schema

if TYPE_CHECKING:
    import torch

    from nscma_torch.reading.descriptions import Descriptions
    from nscma_torch.reading.embedded_tasks import EmbeddedTasks
    from nscma_torch.reading.question_network import QuestionNetwork
    from nscma_torch.reading.reader import Reader


class Readers:
    """Creates the readers.

    Args:
        embedder: returns the embedder used to classify message types.
    """

    def __init__(
        self,
        config: Config,
        relations: Schema,
        device: Callable[[], torch.device],
        embedder: Callable[[], Embedder],
    ) -> None:
        self._config = config
        self._relations = relations
        self._device = device
        self._embedder = embedder

    def reader(self) -> Reader:
        """Return the configured reader."""
        from nscma_torch.reading.reader import shared_reader

        section, device = self._config.reading, self._device()
        weights = None if section.model == "bundled" else Path(section.model)
        return shared_reader(weights, device, reader_precision(section.dtype, device))

    def facts_reader(self) -> Reader:
        """Return the reader for facts if one is configured, else the reader that answers questions."""
        from nscma_torch.reading.read_statements import configured_reader

        return configured_reader(self._config.reading, self._device()) or self.reader()

    def question_network(self) -> QuestionNetwork:
        """Return the bundled network that parses English questions."""
        from nscma_torch.reading.question_network import shared_network

        return shared_network(self._relations, self._device())

    def tasks(self, importance: Callable[[Sequence[str]], Sequence[float]] | None) -> EmbeddedTasks:
        """Return the language tasks that use no language model.

        `importance` rates how likely texts are to be needed later; if None, the gate's cues are used.
        """
        from nscma_torch.reading.embedded_tasks import EmbeddedTasks
        from nscma_torch.reading.fact_changes import FactChanges
        from nscma_torch.reading.question_pairs import AdjacentPairs
        from nscma_torch.reading.read_statements import configured_facts

        config, reads = self._config, self._config.reading.model != "none"
        return EmbeddedTasks(
            **config.answer.model_dump(),
            summary_words=config.hierarchy.summary_words,
            relations=self._relations,
            read_facts=configured_facts(config.reading, self._relations, self._device()),
            fact_changes=FactChanges(self.reader, config.curator.change) if reads else None,
            question_pairs=AdjacentPairs(self.reader) if reads else None,
            importance=importance,
            descriptions=self._descriptions,
        )

    def _descriptions(self) -> Descriptions:
        """Return the describer that needs no language model; it uses vectors from the bundled embedder."""
        from nscma_torch.reading.descriptions import Descriptions
        from nscma_torch.reading.memory_types import MemoryTypes
        from nscma_torch.reading.sentiment import analyzer
        from nscma_torch.text.embedders.embedder import load_embedder

        analyzer()  # names the extra if its package is missing
        types = MemoryTypes.load()
        own = self._embedder()
        if own.fingerprint != types.embedder:
            own = load_embedder(EmbedderConfig(dtype=self._config.embedder.dtype), self._device())
        reader = None if self._config.reading.model == "none" else self.reader
        return Descriptions(types, own, reader, self._relations)


def reader_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the torch dtype for `reading.dtype`; "auto" is bfloat16 if native on the device, else int8 if fast."""
    import torch

    from nscma_torch.reading.int8_linear import native_int8
    from nscma_torch.text.embedders.embedder import precision

    if name == "int8" and not native_int8(device):
        raise ConfigError(
            'reading.dtype = "int8" needs a CPU with VNNI instructions, else results are wrong: use "auto"'
        )
    if name == "int8":
        return torch.int8
    native = precision(name, device)
    return torch.int8 if name == "auto" and native == torch.float32 and native_int8(device) else native
