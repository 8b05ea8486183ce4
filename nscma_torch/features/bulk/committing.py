"""Store computed batches through the write path of `Memory.add`."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import Config
from nscma_torch.features.bulk.packs import Pack
from nscma_torch.features.bulk.weighing import BulkModels, Weighed, Weigher


@dataclass(frozen=True, slots=True)
class Committed:
    """Messages written to disk: new ones by the gate's decision, and those already stored.

    `asked` counts texts that the commit had to send to a model itself, because others wrote to the stream meanwhile.
    """

    added: int = 0
    written: int = 0
    deferred: int = 0
    known: int = 0
    asked: int = 0

    def __add__(self, other: Committed) -> Committed:
        return Committed(
            self.added + other.added,
            self.written + other.written,
            self.deferred + other.deferred,
            self.known + other.known,
            self.asked + other.asked,
        )


class Committer:
    """Stores batches in order.

    Args:
        models: the models that the memory was opened with.
        infer: queue messages that pass the gate for extraction.
        now: the time at which messages are stored; None to use the clock.
    """

    def __init__(self, memory: Memory, models: BulkModels, *, infer: bool, now: datetime | None) -> None:
        self._memory = memory
        self._models = models
        self._infer = infer
        self._now = now

    def __call__(self, weighed: Weighed) -> Committed:
        """Store the batches; each one is on disk before the next begins."""
        embedder, surprise_model = self._models.embedder, self._models.surprise_model
        before = self._asked
        embedder.known = dict(zip(weighed.texts, weighed.vectors, strict=True))
        if surprise_model is not None:
            surprise_model.known = dict(weighed.scores)
        try:
            done = Committed()
            for batch in weighed.batches:
                scope = batch.scope
                added = self._memory.add(
                    batch.messages,
                    user_id=scope.user_id,
                    agent_id=scope.agent_id,
                    run_id=scope.run_id,
                    infer=self._infer,
                    now=self._now,
                )
                new = [one.decision for one in added if one.event == "ADD"]
                written = sum(decision is not None and decision.write for decision in new)
                deferred = sum(decision is not None and not decision.write for decision in new)
                done += Committed(len(new), written, deferred, len(added) - len(new))
            return done + Committed(asked=self._asked - before)
        finally:
            embedder.known = {}
            if surprise_model is not None:
                surprise_model.known = {}

    @property
    def _asked(self) -> int:
        surprise_model = self._models.surprise_model
        return self._models.embedder.computed + (0 if surprise_model is None else surprise_model.computed)


class WeigherAndCommitter:
    """Computes packs and stores them in an actor, if the store allows several writers."""

    def __init__(self, weigher: Weigher, committer: Committer) -> None:
        self._weigher = weigher
        self._committer = committer

    @classmethod
    def load(cls, store: str, config: Config, *, infer: bool, now: datetime | None) -> Self:
        """Create an instance with its own models and connection."""
        models = BulkModels.load(config)
        memory = Memory(store, config=config, embedder=models.embedder, surprise_model=models.surprise_model)
        made = cls(Weigher(config, models), Committer(memory, models, infer=infer, now=now))
        weakref.finalize(made, memory.close)  # actors get no notice of their end
        return made

    def __call__(self, pack: Pack) -> Iterator[Committed]:
        for weighed in self._weigher(pack):
            yield self._committer(weighed)
