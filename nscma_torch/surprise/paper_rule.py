"""The paper's gate rule (NSCMA section 3.2), shared by all gates that use it.

An input is written if S > mu + lambda * sigma, with mu and sigma over the N preceding inputs. sigma is the population
standard deviation.
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
    """Return mu and sigma [...] over the last `count` values in each row, float64; NaN if there are no values.

    They are computed in two passes from differences to the newest value, so for equal values the mean is exactly that
    value and the deviation exactly 0.
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
