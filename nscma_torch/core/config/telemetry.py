"""Configuration of spans and metrics for a collector of the owner's."""

from __future__ import annotations

from pydantic import Field

from nscma_torch.core.config.section import Section


class TelemetryConfig(Section):
    """Spans and metrics by OpenTelemetry, without texts or users. Needs the extra `otel`."""

    enabled: bool = Field(
        False,
        description="Record spans and metrics and send them to the collector that OpenTelemetry's environment "
        "variables name (OTEL_EXPORTER_OTLP_ENDPOINT; this machine if unset).",
    )
