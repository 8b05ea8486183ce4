"""Contextual vectors: each unit's vector blended with those of neighbouring turns.

Legend: n is the number of units in the neighbour links, m that of units to compute vectors for, d the embedding
dimension.
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
    share: Tensor,  # [n], weight by which a unit lends and borrows
) -> Tensor:
    """Return contextual vectors [m, d] float32 for `rows`, with unit length; zeros for rows without a vector."""
    blended = vectors[rows].float()
    for link in links:
        beside = rows
        for weight in WEIGHTS:
            beside = torch.where(beside >= 0, link[beside.clamp(min=0)], beside)
            lent = weight * share[rows] * share[beside] * (beside >= 0)
            blended += lent[:, None] * vectors[beside.clamp(min=0)]
    return torch.nn.functional.normalize(blended, dim=1) * embedded[rows, None]


def around(rows: Tensor, links: Sequence[Tensor]) -> Tensor:
    """Return rows [m] together with the rows that their contextual vectors depend on, ascending."""
    found = [rows]
    for link in links:
        beside = rows
        for _ in WEIGHTS:
            beside = link[beside]
            beside = beside[beside >= 0]
            found.append(beside)
    unique: Tensor = torch.unique(torch.cat(found))
    return unique
