"""Whether the Triton kernels of `scored_topk` give exactly what plain torch gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from nscma_kernels import Filter, scored_topk

Shape = tuple[int, int, int, int]  # Q, N, D, k
SHAPES: Sequence[Shape] = [(1, 3, 5, 1), (2, 65, 7, 9), (17, 201, 33, 5), (2, 401, 41, 200), (66, 129, 70, 2)]
LARGE: Sequence[Shape] = [(1, 100_000, 384, 10), (300, 20_000, 384, 10)]  # for a GPU


def agree(shapes: Sequence[Shape], device: str) -> int:
    """Number of comparisons, all of them equal.

    On a CPU, where Triton's interpreter is slow, each shape has one variant in either type; the shapes take turns.
    """
    count = 0
    for number, shape in enumerate(shapes):
        every = variants(*shape, device)
        for turn, dtype in ((2, torch.float32), (0, torch.bfloat16)):
            for options in every if device != "cpu" else [every[(number + turn) % len(every)]]:
                check(*shape, dtype, options, device)
                count += 1
    return count


def variants(q: int, n: int, d: int, k: int, device: str) -> list[dict[str, Any]]:
    """Plain; columns and one filter; all at once, bounds on both sides or on one."""
    generator = torch.Generator().manual_seed(n)
    columns = torch.randint(-3, 4, (n, 2), generator=generator).float().to(device)
    mask = (torch.rand(n, generator=generator) < 0.7).to(device)
    flags = (1 << torch.randint(0, 6, (n,), generator=generator)).to(device)
    keys = torch.randint(-20, 20, (n, 3), generator=generator).to(device)
    whole = Filter(mask, flags, 0b101111, keys, (-18, -20, -5), (17, 2**63 - 1, 19))
    return [
        {},
        {
            "columns": columns,
            "weights": torch.ones(2, device=device),
            "rows": Filter(mask=mask),
            "longest": 9.0 * d**0.5,
        },
        {"columns": columns, "weights": torch.ones(q, 2, device=device).cumsum(0), "rows": whole},
        {"rows": Filter(flags=flags, any_of=2, keys=keys.T.contiguous().T, low=(0, -9, -20))},
    ]


def check(
    q: int, n: int, d: int, k: int, dtype: torch.dtype, options: dict[str, Any], device: str, *, real: bool = False
) -> None:
    """Integers by default, so that float32 sums are exact; some rows are stored again."""
    generator = torch.Generator().manual_seed(n + q)
    vectors = torch.randint(-9, 10, (n, d), generator=generator).float()
    queries = torch.randint(-9, 10, (q, d), generator=generator).float()
    if real:
        vectors, queries = vectors + torch.randn(n, d, generator=generator), torch.randn(q, d, generator=generator)
    vectors[n // 2 :] = vectors[torch.randint(0, n // 2 + 1, (n - n // 2,), generator=generator)]
    vectors, queries = vectors.to(device, dtype), queries.to(device)
    one, other = (scored_topk(queries, vectors, k, impl=impl, **options) for impl in ("triton", "torch"))  # type: ignore[arg-type]
    assert torch.equal(one[1], other[1]), (q, n, d, k, dtype, options)
    assert torch.equal(one[0], other[0]), (q, n, d, k, dtype, options)
