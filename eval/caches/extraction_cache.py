"""Embedded language tasks that read a text once, however often and by whichever system it is read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from pathlib import Path

from eval.caches.cached_time import KeptTime
from nscma_torch.core.config import Config
from nscma_torch.core.device import torch_device
from nscma_torch.core.records import Extraction, Unit
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.reading.fact_changes import FactChanges
from nscma_torch.reading.read_statements import configured_facts
from nscma_torch.reading.reader import shared_reader
from nscma_torch.reading.readers import reader_precision
from nscma_torch.reading.relations import Schema, load_relations

_MOST = 50_000  # texts; the oldest go first
_Kept = tuple[Extraction, float]  # and the seconds that it took


@cache
def schema_of(relations: str) -> Schema:
    """The relations that facts.relations names; the same object each time, for a schema equals itself alone."""
    return load_relations(None if relations == "bundled" else relations)


class ExtractionCache:
    """What was read out of texts."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    def of(self, key: Hashable, read: Callable[[], _Kept]) -> _Kept:
        """What is kept under a key, read where it is not."""
        if key not in self._kept:
            self._kept[key] = read()
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return self._kept[key]


class KeptExtractions(EmbeddedTasks):
    """`EmbeddedTasks` that read what the cache does not know.

    Args:
        time: hears what was spared.
        config: of the memory that they serve.
    """

    def __init__(self, cache: ExtractionCache, time: KeptTime, config: Config) -> None:
        relations = schema_of(config.facts.relations)
        reading, device = config.reading, torch_device(config.device)
        weights = None if reading.model == "bundled" else Path(reading.model)
        changes = FactChanges(
            lambda: shared_reader(weights, device, reader_precision(reading.dtype, device)), config.curator.change
        )
        super().__init__(
            relations=relations,
            read_facts=configured_facts(reading, relations, device),
            fact_changes=None if reading.model == "none" else changes,
            summary_words=config.hierarchy.summary_words,
            **config.answer.model_dump(),
        )
        self._cache = cache
        self._time = time
        self._read_by = (relations, config.reading.facts, config.reading.dtype)

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        """As embedded tasks do."""
        with self._time.timed() as timed:
            earlier = before or [()] * len(units)
            found = [self._one(*own) for own in zip(units, listeners, earlier, strict=True)]
            timed.cold = sum(seconds for _, seconds in found)
            return [extraction for extraction, _ in found]

    def _one(self, unit: Unit, listener: str, before: Sequence[Unit]) -> _Kept:
        said = (unit.kind, unit.text, unit.role, unit.name, unit.session, unit.source, unit.occurred_at, listener)
        turns = tuple((turn.text, turn.role, turn.name, turn.occurred_at) for turn in before)
        return self._cache.of((self._read_by, *said, turns), lambda: self._read(unit, listener, before))

    def _read(self, unit: Unit, listener: str, before: Sequence[Unit]) -> _Kept:
        began = self._time.clock()
        (extraction,) = super().extract([unit], listeners=[listener], before=[before])
        return extraction, self._time.clock() - began
