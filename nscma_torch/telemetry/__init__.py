"""Spans and metrics by OpenTelemetry, imported only if `telemetry.enabled` is set."""
