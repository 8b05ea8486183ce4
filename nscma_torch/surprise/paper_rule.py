"""The paper's gate rule, shared by every gate that uses it (NSCMA section 3.2).

An input is written if S > mu + lambda * sigma, with mu and sigma over the last N inputs before it: sigma is the
population's standard deviation.
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
    """Return mu and sigma [...] of the last `count` values of each row, float64; NaN if there are none.

    They are computed from differences to the newest value in two passes, so equal values have exactly that mean and no
    deviation.
    """
    size = values.shape[-1]
    known = torch.arange(size, device=values.device) >= size - count[..., None]
    newest = values[..., -1:].double()
    apart = torch.where(known, values.double() - newest, 0.0)
    mean = apart.sum(-1) / count
    spread = torch.where(known, apart - mean[..., None], 0.0).square().sum(-1) / count
    return newest[..., 0] + mean, spread.sqrt()


def limit(mean: Number, sd: Number, lam: float) -> Number:
    """Return the threshold that S must exceed: mu + lambda * sigma."""
    return mean + lam * sd
