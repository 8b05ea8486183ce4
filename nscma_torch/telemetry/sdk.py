"""Import OpenTelemetry's SDK, which is in the extra `otel`."""

from __future__ import annotations

from types import ModuleType

from nscma_torch.core.extras import require


def sdk(module: str) -> ModuleType:
    """Import a module of the SDK. Raises `MissingDependencyError` if the SDK isn't installed."""
    return require(f"opentelemetry.sdk.{module}", extra="otel", purpose="telemetry.enabled")
