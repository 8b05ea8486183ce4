"""Whether the Triton kernel of `knn_graph` gives exactly what plain torch gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from nscma_kernels.knn_graph import knn_graph

Shape = tuple[int, int, int]  # n, d, k
SHAPES: Sequence[Shape] = [(1, 3, 1), (2, 1, 4), (41, 7, 3), (129, 65, 2), (257, 130, 40)]
LARGE: Sequence[Shape] = [(20_000, 384, 10)]  # for a GPU


def agree(shapes: Sequence[Shape], device: str) -> int:
    """Number of comparisons, all of them equal."""
    count = 0
    for n, d, k in shapes:
        for options in variants(n, device):
            check(separated(n, d).to(device), k, **options)
            count += 1
    return count


def check(x: Tensor, k: int, **options: Any) -> None:
    one, other = (knn_graph(x, k, impl=impl, **options) for impl in ("triton", "torch"))
    assert torch.equal(one[0], other[0]), (x.shape, k, options)
    assert torch.equal(one[1], other[1]), (x.shape, k, options)
    assert one[0].shape[1] > 0 or len(x) < 3, (x.shape, k, options)


def separated(n: int, d: int) -> Tensor:
    """Integers, so that float32 sums are exact; a row of zeros and a duplicate among them."""
    x = torch.randint(-9, 10, (n, d), generator=torch.Generator().manual_seed(n)).float()
    x[n // 2] = 0
    x[n - 1] = x[0]
    return x


def variants(n: int, device: str) -> list[dict[str, Any]]:
    """Plain; with positions; with graphs; with positions, graphs and new rows."""
    generator = torch.Generator().manual_seed(n)
    position = torch.randint(0, max(2, n // 2), (n,), generator=generator).to(device)
    stream = torch.randint(0, 3, (n,), generator=generator).to(device)
    batch = torch.randint(0, 5, (n,), generator=generator).to(device)
    where = {"alpha": 0.7, "position": position, "stream": stream}
    return [
        {},
        {**where, "sigma": 3.0, "gamma": 0.05},
        {"batch": batch, "gamma": -0.2},
        {**where, "batch": batch, "start": n // 3},
    ]
