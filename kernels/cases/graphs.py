"""Random graphs with planted communities; every edge in both directions, ordered as PyG's `coalesce` leaves them."""

from __future__ import annotations

import torch
from torch import Tensor


def ring(n: int, degree: int) -> Tensor:
    """Return a lattice: each node with its degree / 2 successors. [2, E]"""
    node = torch.arange(n).repeat_interleave(degree // 2)
    after = (node + torch.arange(1, degree // 2 + 1).repeat(n)) % n
    return both(node, after, n)


def blocks(n: int, degree: int, size: int, inner: float) -> tuple[Tensor, Tensor]:
    """Return a stochastic block model: edges [2, E], a share `inner` of them within blocks of `size` nodes.

    The nodes are in random order; the second result is each node's block [n].
    """
    drawn = torch.randint(0, n, (2, n * degree * 53 // 100))  # some are drawn twice
    near = (drawn[0] // size * size + torch.randint(0, size, drawn[0].shape)).clamp_(max=n - 1)
    other = torch.where(torch.rand(near.shape) < inner, near, drawn[1])
    order = torch.randperm(n)
    return both(order[drawn[0]], order[other], n), torch.argsort(order) // size


def both(one: Tensor, other: Tensor, n: int) -> Tensor:
    """Return each edge once in each direction, without loops."""
    proper = one != other
    one, other = one[proper], other[proper]
    keys = torch.unique(torch.cat([one * n + other, other * n + one]))
    return torch.stack([keys // n, keys % n])
