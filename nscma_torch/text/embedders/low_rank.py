"""Low-rank updates of linear layers: LoRA (Hu et al. 2021, equation 3)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from nscma_torch.text.embedders.minilm import MiniLM

LAYERS = ("qkv", "out", "up", "down")  # of each transformer layer


class LowRank(nn.Module):
    """A linear layer W with a trainable update of rank r; computes W x + B A x."""

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.linear = linear
        self.a = nn.Parameter(torch.randn(rank, linear.in_features) / math.sqrt(linear.in_features))
        self.b = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = self.linear(x) + (x @ self.a.T) @ self.b.T
        return changed

    def merged(self) -> nn.Linear:
        """Return an equivalent single linear layer."""
        linear = nn.Linear(self.linear.in_features, self.linear.out_features)
        linear.weight = nn.Parameter(self.linear.weight + self.b @ self.a)
        linear.bias = self.linear.bias
        return linear


def add_changes(encoder: MiniLM, rank: int) -> None:
    """Add a trainable update, initially zero, to each linear layer in the encoder."""
    for layer in encoder.layers:
        for name in LAYERS:
            setattr(layer, name, LowRank(getattr(layer, name), rank))


@torch.no_grad()
def merge_changes(encoder: MiniLM) -> None:
    """Merge each layer with its update; the model then runs faster but can't be trained further."""
    for layer in encoder.layers:
        for name in LAYERS:
            setattr(layer, name, getattr(layer, name).merged())
