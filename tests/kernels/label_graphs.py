"""Random graphs for label propagation, and its objective by dense matrices."""

from __future__ import annotations

import torch
from torch import Tensor


def gnm(n: int, m: int, seed: int, heaviest: float = 0) -> tuple[Tensor, Tensor | None]:
    """m random edges [2, m], some of them loops or given twice, and weights where `heaviest` is positive."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(n, (2, m), generator=generator)
    return edges, torch.rand(m, generator=generator) * heaviest if heaviest else None


def planted(n: int, size: int, inside: float, outside: float, seed: int) -> tuple[Tensor, Tensor]:
    """A stochastic block model with blocks of `size`, as edges in both directions, and the block of each node."""
    generator = torch.Generator().manual_seed(seed)
    one = torch.randint(n, (int(n * inside / 2),), generator=generator)
    near = one // size * size + torch.randint(size, one.shape, generator=generator)
    far = torch.randint(n, (2, int(n * outside / 2)), generator=generator)
    return shuffled(torch.cat([torch.stack([one, near]), far], dim=1), torch.arange(n) // size, seed)


def shuffled(edges: Tensor, block: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Nodes renamed at random; every edge in both directions, once."""
    name = torch.randperm(len(block), generator=torch.Generator().manual_seed(seed))
    low, high = name[edges].sort(dim=0).values
    key = torch.unique((low * len(block) + high)[low != high])
    edges = torch.stack([key // len(block), key % len(block)])
    return torch.cat([edges, edges.flip(0)], dim=1), torch.empty_like(block).scatter_(0, name, block)


def dense(edges: Tensor, weight: Tensor | None, n: int) -> Tensor:
    """[n, n] float64, the largest weight of each pair in units of the fixed point; no loops."""
    units = torch.ones(edges.shape[1]) if weight is None else (weight.double() * 2**16).round()
    if weight is not None:
        units = torch.where(weight > 0, units.clamp(min=1), units)
    matrix = torch.zeros(n * n, dtype=torch.float64)
    for one, other in (edges, edges.flip(0)):
        matrix.scatter_reduce_(0, one * n + other, units.double(), "amax")
    return matrix.view(n, n).fill_diagonal_(0)


def potential(matrix: Tensor, labels: Tensor) -> float:
    """The weight of edges between equal labels."""
    return float((matrix * (labels[:, None] == labels)).sum()) / 2


def locally_maximal(matrix: Tensor, labels: Tensor) -> bool:
    names, code = labels.unique(return_inverse=True)
    seen = matrix @ torch.nn.functional.one_hot(code, len(names)).double()
    return bool((seen.gather(1, code[:, None])[:, 0] == seen.amax(1)).all())
