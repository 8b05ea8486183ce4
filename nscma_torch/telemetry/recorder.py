"""Record spans and their durations. An error is recorded by its class alone, since its message may quote a text."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TypeVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram
from opentelemetry.trace import Span, SpanKind, StatusCode

from nscma_torch.telemetry import names
from nscma_torch.telemetry.providers import Providers

ItemT = TypeVar("ItemT")
Attributes = Mapping[str, str | int | float | bool]
# Bounds of buckets as the conventions set them; `nscma.job.duration` has those of operations.
_SECONDS = tuple(0.01 * 2**power for power in range(14))
_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_TOKENS = tuple(float(4**power) for power in range(14))


class Running:
    """A span that is running, and the labels under which its duration will be counted."""

    def __init__(self, span: Span, durations: Histogram, labels: dict[str, str | int | float | bool]) -> None:
        self.span = span
        self.labels = labels
        self._durations = durations
        self._began = time.perf_counter()

    def note(self, attributes: Attributes) -> None:
        """Add attributes to the span."""
        self.span.set_attributes(attributes)

    def label(self, attributes: Attributes) -> None:
        """Add attributes to the span and to the labels."""
        self.note(attributes)
        self.labels.update(attributes)

    def fail(self, kind: str) -> None:
        """Mark the span as failed, with the class of the error."""
        self.span.set_status(StatusCode.ERROR)
        self.label({names.ERROR: kind})

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this the span that new spans belong to. An error that passes marks it as failed."""
        with trace.use_span(self.span, record_exception=False, set_status_on_exception=False):
            try:
                yield
            except BaseException as error:
                self.fail(type(error).__name__)
                raise

    @contextmanager
    def whole(self) -> Iterator[Running]:
        """Record a block as this span, which ends with it."""
        try:
            with self.current():
                yield self
        finally:
            self.end()

    def end(self) -> None:
        """Count the duration and end the span."""
        seconds = time.perf_counter() - self._began
        self._durations.record(seconds, self.labels, trace.set_span_in_context(self.span))
        self.span.end()

    def iterated(
        self,
        items: Iterator[ItemT],
        done: Callable[[int], Attributes],
        counts: Callable[[ItemT], bool] = lambda _: True,
    ) -> Iterator[ItemT]:
        """Yield from an iterator, then add the attributes `done(count)` and end the span.

        The span is the current one only while the iterator works, not while its caller does. `count` is the number of
        items for which `counts` is true.
        """
        count = 0
        try:
            while True:
                with self.current():
                    try:
                        item = next(items)
                    except StopIteration:
                        return
                count += counts(item)
                yield item
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()
            self.note(done(count))
            self.end()


class Recorder:
    """A tracer, and the histograms of durations and tokens."""

    def __init__(self, providers: Providers) -> None:
        scope = "nscma_torch", version("nscma-torch")
        self._tracer = providers.traces.get_tracer(*scope)
        meter = providers.metrics.get_meter(*scope)
        self._durations = {
            name: meter.create_histogram(name, "s", text, explicit_bucket_boundaries_advisory=bounds)
            for name, text, bounds in (
                (names.OPERATION_SECONDS, "Duration of operations on the memory and of calls of a model", _SECONDS),
                (names.REQUEST_SECONDS, "Duration of requests to the server", _REQUEST_SECONDS),
                (names.JOB_SECONDS, "Duration of batches of background jobs", _SECONDS),
            )
        }
        self.tokens = meter.create_histogram(
            names.TOKENS, "{token}", "Tokens of a prompt or a reply", explicit_bucket_boundaries_advisory=_TOKENS
        )

    def begin(
        self,
        name: str,
        attributes: Attributes,
        *,
        duration: str,
        labels: Collection[str],
        kind: SpanKind = SpanKind.INTERNAL,
        context: Context | None = None,
    ) -> Running:
        """Begin a span.

        Args:
            duration: the metric that counts its duration.
            labels: the names of the attributes that are labels of that metric, too.
            context: contains the parent; the current context by default.
        """
        own = {label: attributes[label] for label in labels if label in attributes}
        span = self._tracer.start_span(name, context, kind, dict(attributes))
        return Running(span, self._durations[duration], own)
