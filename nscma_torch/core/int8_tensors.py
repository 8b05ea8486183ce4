"""Store large matrices as int8, each row with its own scale.

They take a quarter of float32's bytes; the error is at most 1/254 of the row's largest value.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

SCALE = ".scale"  # after the name of an int8 matrix: its float32 scales, one per row
LEAST = 1 << 16  # elements of the smallest matrix that is quantized


def quantized_rows(
    matrix: Tensor,  # [n, d] float32
) -> tuple[Tensor, Tensor]:  # [n, d] int8, [n] float32
    """Return the matrix as int8, and the scale of each row."""
    scale = (matrix.abs().amax(1) / 127).clamp(min=1e-12)
    return (matrix / scale[:, None]).round().to(torch.int8), scale


def quantized(tensors: Mapping[str, Tensor], *, least: int = LEAST) -> dict[str, Tensor]:
    """Return the tensors with matrices of at least `least` elements as int8 and their scales."""
    stored: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.dim() == 2 and tensor.numel() >= least:
            stored[name], stored[name + SCALE] = quantized_rows(tensor.float())
        else:
            stored[name] = tensor
    return stored


def dequantized(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors with int8 matrices multiplied by their scales, as float32."""
    return {
        name: tensors[name + SCALE][:, None] * tensor if name + SCALE in tensors else tensor
        for name, tensor in tensors.items()
        if not (name.endswith(SCALE) and name.removesuffix(SCALE) in tensors)
    }
