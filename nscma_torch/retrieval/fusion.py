"""How lanes become one score. Each takes lane scores [lanes, n], 0 where a lane did not find a unit."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

RRF_CONSTANT = 60.0


def relative(lanes: Tensor) -> Tensor:
    """Mean of the lanes, each divided by its best score: keeps how far apart the scores are. [n] in [0, 1]."""
    best = lanes.amax(dim=1, keepdim=True)
    return (lanes / torch.where(best > 0, best, torch.ones_like(best))).mean(dim=0)


def reciprocal_rank(lanes: Tensor) -> Tensor:
    """Reciprocal rank fusion, sum of 1 / (c + rank) with c = 60 (Cormack, Clarke and Büttcher 2009). [n]."""
    order = lanes.sort(dim=1, descending=True, stable=True).indices
    ranks = torch.empty_like(order)
    ranks.scatter_(1, order, torch.arange(1, lanes.shape[1] + 1, device=lanes.device).expand_as(order).contiguous())
    return torch.where(lanes > 0, 1.0 / (RRF_CONSTANT + ranks), torch.zeros_like(lanes)).sum(dim=0)


FUSIONS: dict[str, Callable[[Tensor], Tensor]] = {"relative": relative, "rrf": reciprocal_rank}
