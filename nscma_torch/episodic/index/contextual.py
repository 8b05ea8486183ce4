"""Contextual vectors: each unit's vector with a share of those of the turns beside it.

Legend: n units of which links tell the neighbours, m units whose vectors are wanted, d embedding dimension.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nscma_torch.core.config import RetrievalConfig

REACH = RetrievalConfig().reach  # terms; longer units lend and borrow less
WEIGHTS = (0.3, 0.15)  # how much of the vector 1 and 2 turns away a contextual vector takes in


def contextual(
    rows: Tensor,  # [m] int64
    vectors: Tensor,  # [n, d]
    embedded: Tensor,  # [n] bool
    links: Sequence[Tensor],  # two of [n] int64: the row before, and the row after; -1 for none
    share: Tensor,  # [n], what a unit lends and borrows
) -> Tensor:
    """The contextual vectors [m, d] float32 of rows, of unit length; zeros for those that have no vector."""
    blended = vectors[rows].float()
    for link in links:
        beside = rows
        for weight in WEIGHTS:
            beside = torch.where(beside >= 0, link[beside.clamp(min=0)], beside)
            lent = weight * share[rows] * share[beside] * (beside >= 0)
            blended += lent[:, None] * vectors[beside.clamp(min=0)]
    return torch.nn.functional.normalize(blended, dim=1) * embedded[rows, None]


def around(rows: Tensor, links: Sequence[Tensor]) -> Tensor:
    """Rows [m] and those that their contextual vectors take in, ascending."""
    found = [rows]
    for link in links:
        beside = rows
        for _ in WEIGHTS:
            beside = link[beside]
            beside = beside[beside >= 0]
            found.append(beside)
    unique: Tensor = torch.unique(torch.cat(found))
    return unique
