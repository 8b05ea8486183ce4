"""Embedded language tasks that read a text once, however often it comes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

from eval.kept_time import KeptTime
from nscma_torch.llm.embedded import EmbeddedTasks
from nscma_torch.records import Extraction, Unit

_MOST = 50_000  # texts; the oldest go first


class KeptExtractions(EmbeddedTasks):
    """`EmbeddedTasks` that keep what they have read out of a text, and the seconds that it took.

    Args:
        kept_time: hears what was spared.
        settings: of `EmbeddedTasks`.
    """

    def __init__(self, kept_time: KeptTime, **settings: Any) -> None:
        super().__init__(**settings)
        self._time = kept_time
        self._kept: OrderedDict[Hashable, tuple[Extraction, float]] = OrderedDict()

    def extract(self, units: Sequence[Unit], *, listeners: Sequence[str]) -> list[Extraction]:
        """As embedded tasks do, from texts that are not known."""
        with self._time.timed() as timed:
            found = [self._one(unit, listener) for unit, listener in zip(units, listeners, strict=True)]
            timed.cold = sum(seconds for _, seconds in found)
            return [extraction for extraction, _ in found]

    def _one(self, unit: Unit, listener: str) -> tuple[Extraction, float]:
        key = (unit.kind, unit.text, unit.role, unit.name, unit.session, unit.source, unit.occurred_at, listener)
        if key not in self._kept:
            began = self._time.clock()
            (extraction,) = super().extract([unit], listeners=[listener])
            self._kept[key] = extraction, self._time.clock() - began
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return self._kept[key]
