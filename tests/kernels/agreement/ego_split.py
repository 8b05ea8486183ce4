"""Whether the Triton kernel of `ego_split` gives exactly what plain torch gives."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nscma_kernels.ego_split import PersonaGraph, ego_split, update_split

Shape = tuple[int, float]  # nodes, density
SHAPES: Sequence[Shape] = [(1, 0.0), (2, 1.0), (7, 0.5), (17, 1.0), (31, 0.3), (40, 0.1), (35, 0.6)]
LARGE: Sequence[Shape] = [(3000, 0.01), (400, 0.4)]  # for a GPU


def agree(shapes: Sequence[Shape], device: str) -> int:
    """Number of comparisons, all of them equal: of whole splits, and of updates after a third of the edges are gone."""
    count = 0
    for n, density in shapes:
        edge_index = drawn(n, density).to(device)
        one, other = (ego_split(edge_index, n, impl=impl) for impl in ("triton", "torch"))
        same(one, other)
        same(one, ego_split(edge_index.cpu(), n, impl="torch"))
        gone = edge_index[:, :: max(1, edge_index.shape[1] // 3)]
        (one, changed), (other, expected) = (update_split(one, delete=gone, impl=i) for i in ("triton", "torch"))
        same(one, other)
        assert torch.equal(changed, expected), (n, density)
        count += 2
    return count


def drawn(n: int, density: float) -> Tensor:
    generator = torch.Generator().manual_seed(n)
    return (torch.rand(n, n, generator=generator) < density).triu(1).nonzero().T


def same(one: PersonaGraph, other: PersonaGraph) -> None:
    for name in ("edge_index", "persona", "ids", "owner"):
        assert torch.equal(getattr(one, name).cpu(), getattr(other, name).cpu()), name
    assert one.next_id == other.next_id
