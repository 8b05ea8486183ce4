"""The schedule of the learning rate."""

from __future__ import annotations

import math


def warmup_cosine(number: int, warmup: int, total: int) -> float:
    """Linear up, then a cosine down to a twentieth."""
    if number < warmup:
        return (number + 1) / warmup
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * (number - warmup) / max(1, total - warmup)))
