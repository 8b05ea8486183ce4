"""Cases of `scored_topk`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

import torch
from cases.case import Case

from nscma_kernels import scored_topk


def scored_topk_cases(device: torch.device) -> Iterator[Case]:
    """Exact search in 384 dimensions with a bias, against torch's addmm + topk and a flat faiss index."""
    n, d, k = 100_000, 384, 10
    vectors = torch.nn.functional.normalize(torch.randn(n, d, device=device), dim=1)
    bias = torch.rand(n, device=device)
    faiss_index = _faiss_index(vectors, bias) if device.type == "cpu" else None
    for q in (1, 16, 256):
        queries = torch.nn.functional.normalize(torch.randn(q, d, device=device), dim=1)
        runs: dict[str, Callable[[], object]] = {
            "ours": lambda queries=queries: scored_topk(queries, vectors, bias, k),
            "torch addmm+topk": lambda queries=queries: torch.addmm(bias, queries, vectors.T).topk(k),
        }
        if faiss_index is not None:
            augmented = torch.cat([queries, torch.ones(q, 1)], dim=1).numpy()
            runs["faiss Flat"] = lambda augmented=augmented: faiss_index.search(augmented, k)
        yield f"N={n} D={d} Q={q} k={k}", runs


def _faiss_index(vectors: torch.Tensor, bias: torch.Tensor):
    if importlib.util.find_spec("faiss") is None:
        print("faiss is not installed: left out")
        return None
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1] + 1)
    index.add(torch.cat([vectors, bias[:, None]], dim=1).numpy())
    return index
