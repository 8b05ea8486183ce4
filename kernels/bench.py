"""Speed of each operation of `nscma_kernels` beside its peers, as ratios within one run.

    python kernels/bench.py [--device cpu] [--repeats 5]

Every line: operation, shape, milliseconds (median), and each peer's time divided by ours. Peers that are not
installed are named as such. Add an operation: one function that yields cases, one line in `CASES`.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator

import torch

from nscma_kernels import scored_topk

Case = tuple[str, dict[str, Callable[[], object]]]  # shape, and the implementations, ours first


def scored_topk_cases(device: torch.device) -> Iterator[Case]:
    """Exact search in 384 dimensions with a bias, against torch's addmm + topk and a flat faiss index."""
    n, d, k = 100_000, 384, 10
    vectors = torch.nn.functional.normalize(torch.randn(n, d, device=device), dim=1)
    bias = torch.rand(n, device=device)
    faiss_index = _faiss_index(vectors, bias) if device.type == "cpu" else None
    for q in (1, 16, 256):
        queries = torch.nn.functional.normalize(torch.randn(q, d, device=device), dim=1)
        runs: dict[str, Callable[[], object]] = {
            "ours": lambda queries=queries: scored_topk(queries, vectors, bias, k),  # type: ignore[misc]
            "torch addmm+topk": lambda queries=queries: torch.addmm(bias, queries, vectors.T).topk(k),  # type: ignore[misc]
        }
        if faiss_index is not None:
            augmented = torch.cat([queries, torch.ones(q, 1)], dim=1).numpy()
            runs["faiss Flat"] = lambda augmented=augmented: faiss_index.search(augmented, k)  # type: ignore[misc]
        yield f"N={n} D={d} Q={q} k={k}", runs


def _faiss_index(vectors: torch.Tensor, bias: torch.Tensor):  # type: ignore[no-untyped-def]
    if importlib.util.find_spec("faiss") is None:
        print("faiss is not installed: left out")
        return None
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1] + 1)
    index.add(torch.cat([vectors, bias[:, None]], dim=1).numpy())
    return index


CASES: dict[str, Callable[[torch.device], Iterator[Case]]] = {"scored_topk": scored_topk_cases}


def milliseconds(run: Callable[[], object], repeats: int, device: torch.device) -> float:
    """Median wall-clock time of a call, after one warm-up."""
    times = []
    for _ in range(repeats + 1):
        if device.type == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - begin))
    return statistics.median(times[1:])


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    torch.manual_seed(0)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"torch {torch.__version__}, {name}, float32")
    for operation, cases in CASES.items():
        for shape, runs in cases(device):
            times = {who: milliseconds(run, arguments.repeats, device) for who, run in runs.items()}
            ratios = "  ".join(f"{who} / ours = {ms / times['ours']:.2f}" for who, ms in times.items() if who != "ours")
            print(f"{operation:12} {shape:32} ours {times['ours']:8.2f} ms   {ratios}")


if __name__ == "__main__":
    main()
