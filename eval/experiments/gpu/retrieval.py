"""Exact scored search among a million vectors, and how near it comes to reading them once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from eval.experiments.gpu.clock import milliseconds
from eval.experiments.gpu.part import Row, expect
from nscma_kernels import Filter, scored_topk

_D, _K = 384, 10
_BLOCK = 50_000  # rows that the reference scores at once, in float64


def retrieval(device: torch.device, quick: bool) -> Iterator[Row]:
    """Recency and importance as columns, and a filter that one row in ten fails.

    In float32 and bfloat16 the rows found are those of a reference in float64 over the same stored vectors, up to rows
    whose scores are as good.
    """
    n = 2000 if quick else 1_000_000
    generator = torch.Generator(device).manual_seed(0)
    vectors = torch.nn.functional.normalize(torch.randn(n, _D, device=device, generator=generator), dim=1)
    columns = torch.rand(n, 2, device=device, generator=generator)
    weights = torch.tensor([0.2, 0.1], device=device)
    passing = torch.rand(n, device=device, generator=generator) < 0.9
    rows = Filter(mask=passing)
    bias = (columns.double() @ weights.double()).masked_fill(~passing, -torch.inf)
    for dtype in (torch.float32, torch.bfloat16):
        stored = vectors.to(dtype)
        for q in (1, 16) if quick else (1, 16, 256):
            queries = torch.nn.functional.normalize(torch.randn(q, _D, device=device, generator=generator), dim=1)
            ours = partial(scored_topk, queries, stored, _K, columns=columns, weights=weights, rows=rows)
            _compare(queries[:4], stored, bias, *(part[:4] for part in ours()))
            plain = partial(_plain, queries, stored, columns, weights, passing)
            runs: dict[str, Callable[[], object]] = {"ours": ours, "torch": plain, "reading": stored.view(-1).sum}
            took = milliseconds(runs, device, 1 if quick else 10)
            yield Row(
                "scored_topk",
                f"N={n} D={_D} Q={q} k={_K}",
                str(dtype).removeprefix("torch."),
                {
                    "ms": took["ours"],
                    "addmm+topk ms / ours": took["torch"] / took["ours"],
                    "reading all vectors ms / ours": took["reading"] / took["ours"],
                    "vectors read, GB/s": stored.nbytes / took["ours"] / 1e6,
                },
            )


def _plain(queries: Tensor, stored: Tensor, columns: Tensor, weights: Tensor, passing: Tensor) -> Tensor:
    bias = (columns @ weights).masked_fill(~passing, -torch.inf)
    return torch.addmm(bias.to(stored.dtype), queries.to(stored.dtype), stored.T).topk(_K).indices


def _compare(
    queries: Tensor,  # [Q, D]
    stored: Tensor,  # [N, D]
    bias: Tensor,  # [N] float64
    scores: Tensor,  # [Q, k], of ours
    found: Tensor,  # [Q, k]
) -> None:
    starts = range(0, len(stored), _BLOCK)
    parts = [queries.double() @ stored[start : start + _BLOCK].double().T for start in starts]
    exact = torch.cat(parts, dim=1) + bias
    best = exact.topk(_K).values
    apart = float((exact.gather(1, found) - best).abs().max())
    expect(apart < 1e-5, f"the rows found score {apart:.1e} less than the best in float64")
    expect(bool((scores.double() - best).abs().max() < 1e-4), "the scores are not those of the rows found")
