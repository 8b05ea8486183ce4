# kernels/nscma_kernels/segment_mean.py
"""Mean of the rows of each segment."""

from __future__ import annotations

import torch
from torch import Tensor


def segment_mean(
    values: Tensor,  # [n, d]
    segment: Tensor,  # [n] int64, of 0 .. segments - 1, in any order
    segments: int,
) -> Tensor:
    """The mean [segments, d] of each segment's rows, zeros for one that has none; sums are float32 or wider.

    Raises ValueError where shapes do not fit.
    """
    if values.ndim != 2 or segment.shape != values.shape[:1]:
        raise ValueError(f"values must be [n, d] and segment [n], got {[*values.shape]} and {[*segment.shape]}")
    wide = values.to(torch.promote_types(values.dtype, torch.float32))
    total = wide.new_zeros(segments, values.shape[1]).index_add(0, segment, wide)
    count = torch.bincount(segment, minlength=segments).clamp(min=1)
    return (total / count[:, None]).to(values.dtype)
