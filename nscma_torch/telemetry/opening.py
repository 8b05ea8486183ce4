"""Begin to record. This module imports nothing of OpenTelemetry's, which may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nscma_torch.core.config import LlmConfig
from nscma_torch.telemetry.sdk import sdk

if TYPE_CHECKING:
    from nscma_torch.telemetry.telemetry import Telemetry


def open_telemetry(llm: LlmConfig) -> Telemetry:
    """Return what records a memory's work.

    Raises `MissingDependencyError` without the extra `otel`, and the errors of `Telemetry`.
    """
    sdk("trace")
    from nscma_torch.telemetry.telemetry import Telemetry

    return Telemetry(llm)
