"""Weight search lanes and fuse them into one score.

Each fusion takes lane scores [lanes, n], which are 0 for units that a lane didn't find, and one weight per lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import torch
from torch import Tensor

from nscma_torch.reading.question_intent import Intent

Lane = Literal["lexical", "vector"]
RRF_CONSTANT = 60.0
# The memory contains no advice, and the wishes that bear on it share the question's meaning rather than its words.
# Chosen on BEAM's even conversations.
_ADVICE: Mapping[Lane, float] = MappingProxyType({"lexical": 0.4, "vector": 1.6})


def lane_weights(lanes: Iterable[Lane], intent: Intent | None) -> list[float]:
    """Return each lane's weight for a question with this intent."""
    return [_ADVICE[lane] if intent == "advice" else 1.0 for lane in lanes]


def relative(lanes: Tensor, weights: Sequence[float]) -> Tensor:
    """Return the weighted mean of the lanes, [n], in [0, 1].

    Each lane is divided by its best score, which preserves score gaps.
    """
    best = lanes.amax(dim=1, keepdim=True)
    shares = lanes.new_tensor(weights) / sum(weights)
    return shares @ (lanes / torch.where(best > 0, best, torch.ones_like(best)))


def reciprocal_rank(lanes: Tensor, weights: Sequence[float]) -> Tensor:
    """Return reciprocal rank fusion scores (Cormack, Clarke and Büttcher 2009): the sum of weight / (60 + rank), [n].

    The mean weight is scaled to 1.
    """
    order = lanes.sort(dim=1, descending=True, stable=True).indices
    ranks = torch.empty_like(order)
    ranks.scatter_(1, order, torch.arange(1, lanes.shape[1] + 1, device=lanes.device).expand_as(order).contiguous())
    shares = lanes.new_tensor(weights) * len(weights) / sum(weights)
    return shares @ torch.where(lanes > 0, 1.0 / (RRF_CONSTANT + ranks), torch.zeros_like(lanes))


def total(lanes: Tensor, weights: Sequence[float]) -> Tensor:
    """Return the weighted sum of the raw lane scores, [n].

    The mean weight is scaled to 1, so a single lane keeps its scores.
    """
    return lanes.new_tensor(weights) * len(weights) / sum(weights) @ lanes


FUSIONS: dict[str, Callable[[Tensor, Sequence[float]], Tensor]] = {
    "relative": relative,
    "rrf": reciprocal_rank,
    "sum": total,
}
