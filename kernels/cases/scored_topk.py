"""Benchmark cases for `scored_topk`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import torch
from cases.case import Case, PeerShare
from torch import Tensor

from nscma_kernels import Filter, scored_topk


def scored_topk_cases(device: torch.device, large: bool) -> Iterator[Case]:
    """Yield exact search with recency, importance and filters, in float32 and bfloat16, beside torch and a flat faiss
    index.

    The peers find the nearest of all rows, with recency and importance as two more dimensions; "filtered" ones do the
    same work as ours: they also compare every row's mask, kind, times and agent, and search among those that pass.
    """
    d, k = 384, 10
    for n in (10_000, 100_000, *([1_000_000] if large else [])):
        vectors = torch.nn.functional.normalize(torch.randn(n, d, device=device), dim=1)
        columns = torch.stack([torch.exp(-3 * torch.rand(n)), torch.rand(n)]).to(device).T
        rows, weights = _filter(n, device), torch.tensor([0.2, 0.1], device=device)
        half = vectors.bfloat16()
        print(f"{'':21} N={n}: {vectors[0].nbytes} bytes a vector in float32, {half[0].nbytes} in bfloat16")
        faiss_index = _faiss_index(vectors, columns) if device.type == "cpu" else None
        for q in (1, 4, 16, 256):
            queries = torch.nn.functional.normalize(torch.randn(q, d, device=device), dim=1)
            beside = {"columns": columns, "weights": weights, "rows": rows}
            runs: dict[str, Callable[[], object]] = {
                "ours": _ours(queries, vectors, k, beside),
                "ours bf16": _ours(queries, half, k, beside),
                "ours, a new view each time": _ours(queries, vectors, k, beside, anew=True),
                "torch addmm+topk": _torch(queries, vectors, columns, weights, k, None),
                "torch filtered": _torch(queries, vectors, columns, weights, k, rows),
            }
            if device.type == "cuda":
                runs["reading all vectors"] = _reading(vectors)
            if faiss_index is not None:
                share = min(q, 64 if n == 1_000_000 else q)
                scaled = "" if share == q else f" ({share} of {q}, scaled)"
                augmented = torch.cat([queries, weights.expand(q, 2)], dim=1)[:share].numpy()
                runs[f"faiss Flat{scaled}"] = PeerShare(_faiss(faiss_index, augmented, k, None), share / q)
                runs[f"faiss filtered{scaled}"] = PeerShare(_faiss(faiss_index, augmented, k, rows), share / q)
            yield f"N={n} D={d} Q={q} k={k}", runs


def _filter(n: int, device: torch.device) -> Filter:
    """Filter for no deleted rows, five kinds of six, not later than now, not expired, one of two agents: most rows
    pass.
    """
    latest = 2**63 - 1
    times, expiry = torch.randint(0, 10**9, (n,)), torch.full((n,), latest)
    keys = torch.stack([times, expiry, torch.randint(0, 2, (n,))]).to(device).T
    return Filter(
        mask=(torch.rand(n) < 0.95).to(device),
        flags=(1 << torch.randint(0, 6, (n,))).to(device),
        any_of=0b011111,
        keys=keys,
        low=(-(2**63), 10**9, 0),
        high=(9 * 10**8, latest, 1),
    )


def _ours(
    queries: Tensor, vectors: Tensor, k: int, options: dict[str, Any], anew: bool = False
) -> Callable[[], object]:
    """Return our search, on a tensor whose lengths were measured before, or on a new view in each call."""
    return lambda: scored_topk(queries, vectors[:] if anew else vectors, k, **options)


def _torch(
    queries: Tensor, vectors: Tensor, columns: Tensor, weights: Tensor, k: int, rows: Filter | None
) -> Callable[[], object]:
    def run() -> object:
        bias = columns @ weights
        if rows is not None:
            bias = torch.where(rows.passing(0, len(vectors)), bias, -torch.inf)
        return torch.addmm(bias, queries, vectors.T).topk(k)

    return run


def _reading(vectors: Tensor) -> Callable[[], object]:
    """Return the minimum work of any exact search: its time over ours is the share of the bandwidth."""
    return lambda: vectors.view(-1).sum()


def _faiss_index(vectors: Tensor, columns: Tensor) -> Any:
    if importlib.util.find_spec("faiss") is None:
        print("faiss is not installed: left out")
        return None
    import faiss

    faiss.omp_set_num_threads(torch.get_num_threads())
    index = faiss.IndexFlatIP(vectors.shape[1] + columns.shape[1])
    for part, beside in zip(vectors.split(100_000), columns.split(100_000), strict=True):
        index.add(torch.cat([part, beside], dim=1).numpy())
    return index


def _faiss(index: Any, augmented: Any, k: int, rows: Filter | None) -> Callable[[], object]:
    import faiss
    import numpy as np

    def run() -> object:
        if rows is None:
            return index.search(augmented, k)
        bits = np.packbits(rows.passing(0, index.ntotal).numpy(), bitorder="little")
        return index.search(augmented, k, params=faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits)))

    return run
