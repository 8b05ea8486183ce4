"""Speed of each operation of `nscma_kernels` beside its peers, as ratios within one run.

    python kernels/bench.py [OPERATION …] [--device cpu] [--repeats 5]

Every line: operation, shape, milliseconds (median and 95th percentile), and each peer's median divided by ours. Peers
that are not installed are named as such.

Add an operation: a file in `cases/` whose function yields cases, one line in `CASES`.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterator

import torch
from cases.case import Case
from cases.ego_split import ego_split_cases
from cases.knn_graph import knn_graph_cases
from cases.label_propagation import label_propagation_cases
from cases.memory_scan import memory_scan_cases
from cases.personalized_pagerank import personalized_pagerank_cases
from cases.rolling_stats import rolling_stats_cases
from cases.scored_topk import scored_topk_cases
from cases.token_nll import token_nll_cases

CASES: dict[str, Callable[[torch.device], Iterator[Case]]] = {
    "ego_split": ego_split_cases,
    "knn_graph": knn_graph_cases,
    "label_propagation": label_propagation_cases,
    "memory_scan": memory_scan_cases,
    "personalized_pagerank": personalized_pagerank_cases,
    "rolling_stats": rolling_stats_cases,
    "scored_topk": scored_topk_cases,
    "token_nll": token_nll_cases,
}


def timings(run: Callable[[], object], repeats: int, device: torch.device) -> list[float]:
    """Milliseconds of each call, ascending, after one warm-up; of the whole work where the call does a share of it."""
    times = []
    for _ in range(repeats + 1):
        if device.type == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - begin) / getattr(run, "share", 1.0))
    return sorted(times[1:])


def milliseconds(run: Callable[[], object], repeats: int, device: torch.device) -> float:
    """The median."""
    return statistics.median(timings(run, repeats, device))


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help=f"of {', '.join(CASES)}; default all")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    torch.manual_seed(0)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"torch {torch.__version__}, {name}, float32 where a line does not say otherwise")
    unknown = set(arguments.operations) - set(CASES)
    if unknown:
        parser.error(f"unknown operation {min(unknown)!r}; there are {', '.join(CASES)}")
    for operation in arguments.operations or CASES:
        for shape, runs in CASES[operation](device):
            times = {who: timings(run, arguments.repeats, device) for who, run in runs.items()}
            most = times["ours"][math.ceil(0.95 * arguments.repeats) - 1]
            medians = {who: statistics.median(all_times) for who, all_times in times.items()}
            ours = medians.pop("ours")
            ratios = "  ".join(f"{who} / ours = {ms / ours:.2f}" for who, ms in medians.items())
            print(f"{operation:21} {shape:32} ours {ours:8.2f} ms, p95 {most:8.2f}   {ratios}")


if __name__ == "__main__":
    main()
