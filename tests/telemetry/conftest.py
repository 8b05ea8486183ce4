"""Memories whose spans and metrics stay in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from nscma_torch.api.memory import Memory
from nscma_torch.telemetry.providers import Providers
from tests.helpers.noting import EVERYTHING, NotedTasks


@dataclass(frozen=True)
class Recorded:
    """The spans and metrics recorded so far."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    def spans(self, name: str = "") -> list[ReadableSpan]:
        """Spans that have ended, in the order of their ends; those of one name, if it is given."""
        return [span for span in self.exporter.get_finished_spans() if name in ("", span.name)]

    def one(self, name: str) -> dict[str, Any]:
        """The attributes of the only span of this name."""
        (span,) = self.spans(name)
        return dict(span.attributes or {})

    def points(self, metric: str) -> list[Any]:
        """The data points of a metric."""
        data = self.reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for one in scope.metrics
            if one.name == metric
            for point in one.data.data_points
        ]

    def everything(self) -> str:
        """All that would be sent, as text."""
        data = self.reader.get_metrics_data()
        return "\n".join([*(span.to_json() for span in self.spans()), "" if data is None else data.to_json()])


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """Collects what memories with `telemetry.enabled` record."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    traces, metrics = TracerProvider(shutdown_on_exit=False), MeterProvider([reader], shutdown_on_exit=False)
    traces.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("nscma_torch.telemetry.telemetry.providers", lambda: Providers(traces, metrics))
    yield Recorded(exporter, reader)
    traces.shutdown()
    metrics.shutdown()


@pytest.fixture
def open_observed(open_memory: Callable[..., Memory], light_surprise: Any, recorded: Recorded) -> Callable[..., Memory]:
    """`open_observed(config=…)`: a light memory that records."""

    def open_(config: dict[str, Any] | None = None, **parts: Any) -> Memory:
        given = {**EVERYTHING, "telemetry": {"enabled": True}, **(config or {})}
        return open_memory(config=given, **{"surprise_model": light_surprise, "tasks": NotedTasks(), **parts})

    return open_


@pytest.fixture
def observed(open_observed: Callable[..., Memory]) -> Memory:
    return open_observed()
