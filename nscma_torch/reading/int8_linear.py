"""Multiply by int8 weights on a CPU with VNNI but without bfloat16 instructions, where float32 takes longer.

Weights have one scale per output row, activations one per token, computed in each call (dynamic quantization).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nscma_torch.core.int8_tensors import quantized_rows


class Int8Linear(nn.Module):
    """A linear layer with int8 weights; it can't be trained.

    Args:
        linear: the float32 layer to quantize.
    """

    weight: Tensor
    scale: Tensor
    bias: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight, scale = quantized_rows(linear.weight.detach())
        self.register_buffer("weight", weight.t())
        self.register_buffer("scale", scale)
        none = torch.zeros(linear.out_features)
        self.register_buffer("bias", none if linear.bias is None else linear.bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        rows, scale = quantized_rows(x.reshape(-1, x.shape[-1]))
        y = torch.addcmul(self.bias, torch._int_mm(rows, self.weight) * scale[:, None], self.scale)
        return y.view(*x.shape[:-1], -1)


def quantize_linear_layers(module: nn.Module) -> None:
    """Replace all linear layers inside a module, in place."""
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.Linear):
                setattr(parent, name, Int8Linear(child))


def native_int8(device: torch.device) -> bool:
    """Return True if int8 products are exact and fast on a device: on CPUs with VNNI.

    On CPUs without it, sums of two products can overflow.
    """
    return device.type == "cpu" and torch.cpu._is_vnni_supported()
