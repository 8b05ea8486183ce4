"""The models that a memory uses, each loaded when first used; a command that only reads rows doesn't load torch."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

from nscma_torch.core.config import Config
from nscma_torch.core.jobs.worker import Around
from nscma_torch.core.locked_property import locked_cached_property
from nscma_torch.core.protocols import Embedder, LanguageTasks, SurpriseModel
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.engines.lazy import LazyEngine
from nscma_torch.reading.relations import Schema, load_relations

if TYPE_CHECKING:
    import torch

    from nscma_torch.reading.embedded_tasks import EmbeddedTasks
    from nscma_torch.reading.readers import Readers
    from nscma_torch.redaction.redactor import Redactor
    from nscma_torch.surprise.gate import MessageGate
    from nscma_torch.surprise.salience_head import SalienceHead
    from nscma_torch.telemetry.telemetry import Telemetry

_ALWAYS_THERE = ("auto", "cpu")  # names of devices that are right on every machine


class Models:
    """The device, embedder, surprise model, gate, language engine and tasks for a configuration.

    Args:
        embedder, surprise_model, tasks: used instead of the configured ones.
        check: called with the embedder before it is used for the store.

    Attributes:
        tally: counts of language work.
        telemetry: records the memory's work; None unless `telemetry.enabled` is set.
    """

    def __init__(
        self,
        config: Config,
        *,
        embedder: Embedder | None,
        surprise_model: SurpriseModel | None,
        tasks: LanguageTasks | None,
        check: Callable[[Embedder], None],
    ) -> None:
        self.config = config
        self.build_lock = threading.RLock()
        if config.device not in _ALWAYS_THERE:  # an unknown device is an error before the store is opened
            _ = self.device
        self.tally: Counter[str] = Counter()
        self.telemetry: Telemetry | None = None
        if config.telemetry.enabled:
            from nscma_torch.telemetry.opening import open_telemetry

            self.telemetry = open_telemetry(config.llm)
        self._embedder = embedder
        self._surprise_model = surprise_model
        self._tasks = tasks
        self._check = check

    @locked_cached_property
    def device(self) -> torch.device:
        """Return the device for models, indexes and graphs."""
        from nscma_torch.core.device import torch_device

        return torch_device(self.config.device)

    @locked_cached_property
    def new_embedder(self) -> Embedder:
        """Return the configured embedder, even if the store's vectors come from another one."""
        from nscma_torch.text.embedders.embedder import load_embedder

        return self._embedder or load_embedder(self.config.embedder, self.device)

    @locked_cached_property
    def embedder(self) -> Embedder:
        """Return the configured embedder. Raises `EmbedderMismatchError` if the store's vectors come from another
        embedder.
        """
        self._check(self.new_embedder)
        return self.new_embedder

    @locked_cached_property
    def surprise_model(self) -> SurpriseModel:
        """Return the model that computes surprise for the gate."""
        from nscma_torch.api.surprise_models import load_surprise_model, serve_surprise_model

        if self._surprise_model is None and self.config.surprise.engine == "llm":
            return serve_surprise_model(self.config, self.engine)
        return self._surprise_model or load_surprise_model(self.config.surprise, self.device)

    @property
    def surprise_is_served(self) -> bool:
        """Return True if the surprise model is called over a network."""
        from nscma_torch.surprise.language_models.vllm_model import VllmSurpriseModel

        return isinstance(self.surprise_model, VllmSurpriseModel)

    @locked_cached_property
    def tasks(self) -> LanguageTasks:
        """Return the language tasks."""
        if self._tasks is not None:
            return self._tasks
        if self.engine is None:
            return self.embedded_tasks
        from nscma_torch.llm.configured_tasks import prompted_tasks, sure_extraction

        surely = sure_extraction(self.config, lambda: self.embedded_tasks)
        return prompted_tasks(self.config, self.engine, self.relations, tally=self.tally, extract_surely=surely)

    @locked_cached_property
    def embedded_tasks(self) -> EmbeddedTasks:
        """Return the language tasks that use no language model. They are used if none is configured, or while it is
        unavailable.
        """
        head = None if self.config.score.importance == "cues" else self.salience_head
        return self.readers.tasks(None if head is None else lambda texts: head.importance(self.embedder.embed(texts)))

    @locked_cached_property
    def readers(self) -> Readers:
        """Return the trained readers."""
        from nscma_torch.reading.readers import Readers

        return Readers(self.config, self.relations, lambda: self.device, lambda: self.embedder)

    @locked_cached_property
    def engine(self) -> LazyEngine | None:
        """Return the configured language engine, which starts when first used; None if the embedded tasks are
        configured.
        """
        engine = choose_engine(self.config.llm, lambda: self.device)
        if engine is not None and self.telemetry is not None:
            engine.observer = self.telemetry.models
        return engine

    @property
    def around(self) -> Around:
        """Return what records background jobs, or does nothing."""
        return (lambda *_: nullcontext()) if self.telemetry is None else self.telemetry.job

    @locked_cached_property
    def relations(self) -> Schema:
        """Return the relation schema."""
        path = self.config.facts.relations
        return load_relations(None if path == "bundled" else path)

    @locked_cached_property
    def redactor(self) -> Redactor | None:
        """Return what masks messages before they are stored; None if nothing is masked."""
        section = self.config.redaction
        if not section.kinds and not section.patterns:
            return None
        from nscma_torch.redaction.configured import configured_redactor

        return configured_redactor(section)

    @locked_cached_property
    def gate(self) -> MessageGate:
        """Return the gate with the configured rule."""
        from nscma_torch.surprise.gate import MessageGate

        return MessageGate(self.config.gate, self.salience_head)

    @locked_cached_property
    def salience_head(self) -> SalienceHead | None:
        """Return the gate's learned head, or None if it was trained on another embedder's vectors."""
        from nscma_torch.surprise.salience_head import SalienceHead

        head = SalienceHead.load()
        return head if head.embedder == self.embedder.fingerprint else None

    def judge(self) -> str:
        """Return the name of the model that judges disputes, the same in every process. `sleep` records it so that each
        judge is asked once.
        """
        if self._tasks is not None:
            return type(self._tasks).__name__
        return "embedded" if self.engine is None else self.engine.configured

    @property
    def language(self) -> str:
        """Return the name of the language engine, or of the language tasks used instead."""
        name = "embedded" if self.engine is None else self.engine.name
        return name if self._tasks is None else type(self._tasks).__name__
