"""A command in a fork of the warm process sends what it recorded before it ends; the warm process records nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from nscma_torch.cli.warm_process import client
from tests.cli.test_warm import LIGHT, program
from tests.telemetry.test_providers import collector


@pytest.mark.skipif(not client.SUPPORTED, reason="this system can't fork")
def test_a_forked_command_sends_its_spans(tmp_path: Path) -> None:
    (tmp_path / "observed.toml").write_text(f"{LIGHT}[telemetry]\nenabled = true\n")
    own = {name: text for name, text in os.environ.items() if not name.startswith(("NSCMA_", "OTEL_"))}
    own |= {"XDG_RUNTIME_DIR": str(tmp_path), "NSCMA_CONFIG": str(tmp_path / "observed.toml"), "PWD": str(tmp_path)}
    with collector() as (url, got):
        own["OTEL_EXPORTER_OTLP_ENDPOINT"] = url

        def run(*arguments: str) -> None:
            subprocess.run(program(*arguments), cwd=tmp_path, env=own, capture_output=True, timeout=60, check=True)

        run("warm", "--minutes", "1")
        try:
            assert got == []
            run("add", "--text", "I live in Porto.")
            spans = [ExportTraceServiceRequest.FromString(body) for path, body in got if path == "/v1/traces"]
        finally:
            run("warm", "--stop")
    names = [span.name for one in spans for span in one.resource_spans[0].scope_spans[0].spans]
    assert "create_memory" in names and "close" in names
