"""Choose where spans and metrics go: to the application's own providers, or to an exporter by OpenTelemetry's
environment variables.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import ProxyTracerProvider, TracerProvider

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.extras import require
from nscma_torch.telemetry.sdk import sdk

_OTLP = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}  # the exporter of each protocol


@dataclass(frozen=True, slots=True)
class Providers:
    """A provider of tracers and one of meters."""

    traces: TracerProvider
    metrics: MeterProvider


def providers() -> Providers:
    """Return the providers that the application has set, or else this process's own.

    Raises `ConfigError` if an environment variable names an unknown exporter.
    """
    traces = trace.get_tracer_provider()
    if isinstance(traces, ProxyTracerProvider):
        return _own()
    return Providers(traces, metrics.get_meter_provider())


def shutdown() -> None:
    """Send what is waiting, and end the exporters of this process's own providers, if it has any.

    The SDK does so itself at the end of a process, except of one that ends by `os._exit`.
    """
    if _own.cache_info().currsize:
        own: Any = _own()
        own.traces.shutdown()
        own.metrics.shutdown()
        _own.cache_clear()


@cache
def _own() -> Providers:
    spans, measures = _exporter("traces"), _exporter("metrics")
    resource = _resource()
    readers = [] if measures is None else [sdk("metrics.export").PeriodicExportingMetricReader(measures)]
    meters = sdk("metrics").MeterProvider(readers, resource=resource)
    tracers = sdk("trace").TracerProvider(resource=resource)
    if spans is not None:
        tracers.add_span_processor(sdk("trace.export").BatchSpanProcessor(spans))
    return Providers(tracers, meters)


def _resource() -> Any:
    """Return what describes this process: named by OTEL_SERVICE_NAME, or else "nscma"."""
    resources = sdk("resources")
    found = resources.Resource.create()
    if str(found.attributes[resources.SERVICE_NAME]).startswith("unknown_service"):
        found = found.merge(resources.Resource({resources.SERVICE_NAME: "nscma"}))
    return found


def _exporter(signal: str) -> Any:
    """Create the exporter for a signal, "traces" or "metrics"; None if its variable is "none"."""
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    name = os.environ.get(variable) or "otlp"
    if name == "none":
        return None
    if name == "otlp":
        name = _otlp(signal)
    group = entry_points(group=f"opentelemetry_{signal}_exporter")
    if name not in group.names:
        if name == _OTLP["http/protobuf"]:
            require("opentelemetry.exporter.otlp.proto.http", extra="otel", purpose="telemetry.enabled")
        known = ", ".join(sorted({"none", "otlp", *group.names}))
        raise ConfigError(f"{variable} asks for the exporter {name!r}, which is not installed; choose one of {known}")
    return group[name].load()()


def _otlp(signal: str) -> str:
    """Return the name of the exporter for the protocol of a signal."""
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL"
    variable = own if os.environ.get(own) else "OTEL_EXPORTER_OTLP_PROTOCOL"
    protocol = os.environ.get(variable) or "http/protobuf"
    if protocol not in _OTLP:
        raise ConfigError(f"{variable} is {protocol!r}; choose one of {', '.join(_OTLP)}")
    return _OTLP[protocol]
