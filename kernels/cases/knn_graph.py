"""Benchmark cases for `knn_graph`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

import torch
from cases.case import Case

from nscma_kernels import knn_graph


def knn_graph_cases(device: torch.device, _large: bool) -> Iterator[Case]:
    """Yield whole graphs in 384 dimensions and 100 new rows against 10,000, beside a flat faiss index and torch's
    matmul.
    """
    d, k = 384, 10
    shapes = [("whole", 20_000, 0), ("dense", 20_000, 0), ("band", 20_000, 0), ("new rows", 10_100, 10_000)]
    for name, n, start in shapes:
        x = torch.randn(n, d, device=device)
        if name == "dense":  # clusters of 50
            x = torch.randn(n // 50, d, device=device)[torch.arange(n, device=device) // 50] + 0.6 * x
        place = {"position": torch.arange(n, device=device) % 200, "stream": torch.arange(n, device=device) // 200}
        extra: dict[str, object] = {"alpha": 0.7, "sigma": 3.0, **place} if name == "band" else {}
        runs: dict[str, Callable[[], object]] = {
            "ours": lambda x=x, start=start, extra=extra: knn_graph(x, k, start=start, **extra)
        }
        if name != "band":
            runs["torch matmul+topk"] = lambda x=x, start=start: _matmul_topk(x, start, k)
        if name != "band" and device.type == "cpu" and importlib.util.find_spec("faiss") is not None:
            runs["faiss Flat"] = lambda x=x, start=start: _faiss_search(x, start, k)
        if name != "band" and importlib.util.find_spec("torch_cluster") is not None:
            from torch_cluster import knn

            runs["torch_cluster knn"] = lambda x=x, start=start: knn(x, x[start:], k + 1, cosine=True)
        yield f"{name} N={n} D={d} Q={n - start} k={k}", runs


def _matmul_topk(x: torch.Tensor, start: int, k: int) -> list[torch.Tensor]:
    unit = torch.nn.functional.normalize(x, dim=1)
    return [(rows @ unit.T).topk(k + 1).indices for rows in torch.split(unit[start:], 1024)]


def _faiss_search(x: torch.Tensor, start: int, k: int) -> object:
    import faiss

    unit = torch.nn.functional.normalize(x, dim=1).numpy()
    index = faiss.IndexFlatIP(unit.shape[1])
    index.add(unit)
    return index.search(unit[start:], k + 1)
