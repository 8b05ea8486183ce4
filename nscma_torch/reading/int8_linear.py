"""Multiply by int8 weights on a CPU with VNNI but without bfloat16 instructions, where float32 takes longer.

Weights have one scale per output row, activations one per token, computed in each call (dynamic quantization).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_MOST = 127


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
        scale = (linear.weight.detach().abs().amax(1) / _MOST).clamp(min=1e-12)
        self.register_buffer("weight", (linear.weight.detach() / scale[:, None]).round().to(torch.int8).t())
        self.register_buffer("scale", scale)
        none = torch.zeros(linear.out_features)
        self.register_buffer("bias", none if linear.bias is None else linear.bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, x.shape[-1])
        scale = (rows.abs().amax(1, keepdim=True) / _MOST).clamp(min=1e-12)
        product = torch._int_mm((rows / scale).round().to(torch.int8), self.weight)
        y = torch.addcmul(self.bias, product * scale, self.scale)
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
