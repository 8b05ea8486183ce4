"""Whether the Triton kernels of label propagation give exactly what plain torch gives, after any number of rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from nscma_kernels import label_propagation
from tests.kernels.label_graphs import gnm

Shape = tuple[int, int, float]  # nodes, edges, the heaviest weight or 0 for none
SHAPES: Sequence[Shape] = [(1, 0, 0), (5, 2, 0), (37, 60, 3), (53, 211, 1e6)]
LARGE: Sequence[Shape] = [(20_000, 150_000, 0), (5000, 100_000, 3)]  # for a GPU


def agree(shapes: Sequence[Shape], device: str) -> int:
    """Number of comparisons, all of them equal."""
    for n, m, heaviest in shapes:
        edges, weight = gnm(n, m, n, heaviest)
        check(edges, n, device, weight)
    return 2 * len(shapes)


def agree_on_special_graphs(device: str) -> int:
    """The same with given labels, a frontier and ids; of a batch; of a complete bipartite graph; of two hubs."""
    edges, _ = gnm(120, 360, 120)
    generator = torch.Generator().manual_seed(1)
    given = {
        "labels": torch.randint(-4, 4, (120,), generator=generator),
        "frontier": torch.arange(0, 120, 7),
        "ids": torch.randperm(120, generator=generator) - 99,
    }
    check(edges, 120, device, **given)
    check(edges % 30 + 30 * (torch.arange(360) % 4), 120, device, batch=torch.arange(120) // 30)
    check(torch.cartesian_prod(torch.arange(17), torch.arange(17, 34)).T, 34, device)
    leaves = torch.arange(1, 150)  # two hubs, of degree 149 and 40
    wheel = torch.cat([torch.stack([leaves * 0, leaves]), torch.stack([leaves * 0 + 1, leaves])[:, 1:41]], dim=1)
    weight = torch.rand(len(leaves) + 40 + 100, generator=generator)
    check(torch.cat([wheel, edges[:, :100]], dim=1), 150, device, weight)
    return 8


def check(edges: Tensor, n: int, device: str, weight: Tensor | None = None, **given: Any) -> None:
    """After two rounds and at the end."""
    moved = {name: tensor.to(device) for name, tensor in given.items()}
    there = None if weight is None else weight.to(device)
    for rounds in (2, None):
        one, other = (
            label_propagation(edges.to(device), there, n, max_rounds=rounds, impl=impl, **moved)
            for impl in ("torch", "triton")
        )
        assert torch.equal(one, other), (n, rounds)
