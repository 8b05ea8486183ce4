"""The rule of the paper's gate in one place, for every gate that decides by it (NSCMA section 3.2).

An input is written if S > mu + lambda * sigma, mu and sigma over the last N inputs before it: sigma divides by their
number, as for a whole population.
"""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor

Number = TypeVar("Number", float, Tensor)


@torch.no_grad()
def moments(
    values: Tensor,  # [..., N], newest last
    count: Tensor,  # [...] integers of 0 .. N
) -> tuple[Tensor, Tensor]:
    """mu and sigma [...] of the last `count` values of each row, float64; NaN where there are none.

    Taken of differences to the newest value and in two passes, so equal values have that mean and no deviation.
    """
    size = values.shape[-1]
    known = torch.arange(size, device=values.device) >= size - count[..., None]
    newest = values[..., -1:].double()
    apart = torch.where(known, values.double() - newest, 0.0)
    mean = apart.sum(-1) / count
    spread = torch.where(known, apart - mean[..., None], 0.0).square().sum(-1) / count
    return newest[..., 0] + mean, spread.sqrt()


def limit(mean: Number, sd: Number, lam: float) -> Number:
    """The threshold that S must exceed: mu + lambda * sigma."""
    return mean + lam * sd
