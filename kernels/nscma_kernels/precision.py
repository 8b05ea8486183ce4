"""Choose the fastest precision for matrix multiplication on a device."""

from __future__ import annotations

import torch


def native_dtype(device: str | torch.device) -> torch.dtype:
    """Return bfloat16 if the device's matrix units multiply it natively (CUDA, CPUs with AMX), else float32."""
    native = torch.device(device).type == "cuda" or torch.cpu.get_capabilities().get("amx_bf16", False)
    return torch.bfloat16 if native else torch.float32
