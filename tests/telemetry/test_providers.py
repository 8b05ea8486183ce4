"""Spans and metrics go to the application's providers, or to an exporter by OpenTelemetry's variables."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import SERVICE_NAME
from opentelemetry.sdk.trace import TracerProvider

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError, MissingDependencyError
from nscma_torch.telemetry import providers

PROGRAM = """
import sys
from nscma_torch import Memory

light = {"embedder": {"model": "hash"}, "reading": {"model": "none"}}
with Memory(sys.argv[1], config=light) as memory:
    memory.add("I live in Oslo.", user_id="ana")
    memory.flush()
    memory.ask("Where do I live?", user_id="ana")
    list(memory.export())
print(sorted(name for name in sys.modules if "opentelemetry" in name or name.startswith("nscma_torch.telemetry")))
with Memory(sys.argv[1], config={**light, "telemetry": {"enabled": True}}) as memory:
    memory.search("Oslo", user_id="ana")
"""
LIGHT = {"embedder": {"model": "hash"}, "telemetry": {"enabled": True}}


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector on the loopback: its address, and the path and body of each request so far."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No variable of OpenTelemetry's is set, and this process has no providers of its own yet."""
    for signal in ("TRACES", "METRICS"):
        monkeypatch.setenv(f"OTEL_{signal}_EXPORTER", "none")
    providers._own.cache_clear()
    yield monkeypatch
    providers.shutdown()


def test_the_owners_collector_gets_what_is_enabled_and_nothing_else(tmp_path: Path) -> None:
    """The first memory records nothing and imports nothing for it; the second one's work is sent at the end."""
    with collector() as (url, got):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "store.db")],
            env={"OMP_NUM_THREADS": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": url},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
    assert done.stdout == "[]\n"
    spans = [ExportTraceServiceRequest.FromString(body) for path, body in got if path == "/v1/traces"]
    resource = spans[0].resource_spans[0]
    assert {one.key: one.value.string_value for one in resource.resource.attributes}[SERVICE_NAME] == "nscma"
    assert [span.name for span in resource.scope_spans[0].spans] == ["search_memory", "close"]
    metrics = [ExportMetricsServiceRequest.FromString(body) for path, body in got if path == "/v1/metrics"]
    (metric,) = metrics[0].resource_metrics[0].scope_metrics[0].metrics
    assert metric.name == "gen_ai.client.operation.duration"


def test_the_service_is_named_by_its_variable(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("OTEL_SERVICE_NAME", "memory of ours")
    own: Any = providers.providers()
    assert own.traces.resource.attributes[SERVICE_NAME] == "memory of ours"
    assert providers.providers() is own


def test_providers_of_the_application_are_used(fresh: pytest.MonkeyPatch) -> None:
    traces = TracerProvider(shutdown_on_exit=False)
    fresh.setattr("opentelemetry.trace.get_tracer_provider", lambda: traces)
    assert providers.providers().traces is traces
    assert providers._own.cache_info().currsize == 0


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "OTEL_TRACES_EXPORTER .*'zipkin'.* choose one of console, none, otlp"),
        ("OTEL_METRICS_EXPORTER", "prom", "OTEL_METRICS_EXPORTER .*'prom'"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "OTEL_EXPORTER_OTLP_PROTOCOL is 'http/json'; choose"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "udp", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is 'udp'; choose"),
    ],
)
def test_an_unknown_exporter_is_an_error(
    variable: str, value: str, said: str, fresh: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fresh.setenv("OTEL_TRACES_EXPORTER", "otlp")
    fresh.setenv(variable, value)
    with pytest.raises(ConfigError, match=said):
        Memory(tmp_path / "store.db", config=LIGHT)
    assert list(tmp_path.iterdir()) == [], "no store is left behind"


@pytest.mark.parametrize("missing", ["opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http"])
def test_without_the_extra_an_error_names_it(missing: str, fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh.setenv("OTEL_TRACES_EXPORTER", "otlp")
    fresh.setitem(sys.modules, missing, None)  # type: ignore[arg-type]
    fresh.setattr("nscma_torch.telemetry.providers.entry_points", lambda **_: _NoExporters())
    with pytest.raises(MissingDependencyError, match=r"pip install 'nscma-torch\[otel\]'"):
        Memory(tmp_path / "store.db", config=LIGHT)
    assert list(tmp_path.iterdir()) == []


class _NoExporters(dict[str, Any]):
    names = frozenset[str]()
