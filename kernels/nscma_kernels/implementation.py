"""Choose the implementation for an operation."""

from __future__ import annotations

import os
from typing import Literal

from torch import Tensor

Impl = Literal["auto", "torch", "triton"]


def on_triton(impl: str, tensor: Tensor) -> bool:
    """Return True if Triton is to be used: on request, or by default ("auto") for CUDA tensors.

    Raises `ValueError` for an unknown name, and for Triton on another device unless its interpreter is enabled.
    """
    if impl not in ("auto", "torch", "triton"):
        raise ValueError(f"impl must be auto, torch or triton, got {impl!r}")
    if impl == "triton" and not tensor.is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise ValueError(f"impl='triton' needs CUDA tensors, these are on {tensor.device}; use impl='torch' or 'auto'")
    return impl == "triton" or (impl == "auto" and tensor.is_cuda)
