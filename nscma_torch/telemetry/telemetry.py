"""All that one memory records: its operations, calls of its model, and its background jobs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from nscma_torch.core.config import LlmConfig
from nscma_torch.telemetry import names
from nscma_torch.telemetry.memory_calls import MemoryCalls
from nscma_torch.telemetry.model_calls import ModelCalls
from nscma_torch.telemetry.providers import providers
from nscma_torch.telemetry.recorder import Attributes, Recorder

T = TypeVar("T")


class Telemetry:
    """Records what a memory does.

    Args:
        llm: the configured language model, which the spans of its calls name.

    Raises:
        ConfigError: an environment variable of OpenTelemetry's names an unknown exporter.
    """

    def __init__(self, llm: LlmConfig) -> None:
        self.recorder = Recorder(providers())
        self.models = ModelCalls(self.recorder, llm)
        self._memory = MemoryCalls(self.recorder, "")

    def name_store(self, address: str) -> None:
        """Record a hash of this address with each operation from now on."""
        self._memory = MemoryCalls(self.recorder, address)

    def operation(self, name: str, method: str, call: Callable[[], T]) -> T:
        """Run an operation on the memory as a span; see `MemoryCalls.run`."""
        return self._memory.run(name, method, call)

    def job(self, kind: str, count: int) -> AbstractContextManager[object]:
        """Return a context that records a batch of background jobs as a span."""
        attributes: Attributes = {names.JOB: kind, names.JOBS: count}
        return self.recorder.begin(f"job {kind}", attributes, duration=names.JOB_SECONDS, labels=(names.JOB,)).whole()
