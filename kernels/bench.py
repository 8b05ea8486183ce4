"""Benchmark each operation of `nscma_kernels` against peers, as ratios within one run.

    python kernels/bench.py [OPERATION …] [--device cpu] [--repeats 5] [--threads 1] [--large] [--rows FILE]

Each line shows operation, shape, milliseconds (median and 95th percentile; processor time on a CPU), and each peer's
median divided by ours. All take turns. Missing peers are reported. All operations together take less than ten minutes
of one core; `--large` adds shapes that take longer. `--rows` appends each line to a file, as JSON.
ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in the environment measures a CPU without AMX.

To add an operation, add a file in `cases/` whose function yields cases, and one line in `CASES`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from cases.batched_clusters import batched_clusters_cases
from cases.case import Case
from cases.ego_split import ego_split_cases
from cases.knn_graph import knn_graph_cases
from cases.label_propagation import label_propagation_cases
from cases.memory_scan import memory_scan_cases
from cases.personalized_pagerank import personalized_pagerank_cases
from cases.rolling_stats import rolling_stats_cases
from cases.scored_topk import scored_topk_cases
from cases.token_nll import token_nll_cases

BUDGET = 10.0  # default seconds after which no further turn of a case begins
CASES: dict[str, Callable[[torch.device, bool], Iterator[Case]]] = {
    "batched_clusters": batched_clusters_cases,
    "ego_split": ego_split_cases,
    "knn_graph": knn_graph_cases,
    "label_propagation": label_propagation_cases,
    "memory_scan": memory_scan_cases,
    "personalized_pagerank": personalized_pagerank_cases,
    "rolling_stats": rolling_stats_cases,
    "scored_topk": scored_topk_cases,
    "token_nll": token_nll_cases,
}


def timings(
    runs: dict[str, Callable[[], object]], repeats: int, device: torch.device, budget: float = math.inf
) -> dict[str, list[float]]:
    """Return milliseconds of each call, ascending, scaled to the whole work if the call does a share of it.

    All take turns, after one warm-up each, so other load affects all equally; on a CPU processor time is measured. No
    further turn begins after `budget` seconds.
    """
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    times: dict[str, list[float]] = {who: [] for who in runs}
    started = clock()
    for turn in range(repeats + 1):
        if turn > 1 and clock() - started > budget:
            break
        for who, run in runs.items():
            _wait(device)
            begin = clock()
            run()
            _wait(device)
            times[who].append(1000 * (clock() - begin) / getattr(run, "share", 1.0))
    return {who: sorted(spent[1:]) for who, spent in times.items()}


def milliseconds(run: Callable[[], object], repeats: int, device: torch.device) -> float:
    """Return the median."""
    return statistics.median(timings({"run": run}, repeats, device)["run"])


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help=f"of {', '.join(CASES)}; default all")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of torch and of the peers")
    parser.add_argument("--large", action="store_true", help="also shapes that take long")
    parser.add_argument("--budget", type=float, help=f"seconds after which no turn of a case begins; {BUDGET:.0f}")
    parser.add_argument("--rows", type=Path, help="file that each line is appended to as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device)
    torch.manual_seed(0)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    isa = os.environ.get("ONEDNN_MAX_CPU_ISA")
    limited = "" if isa is None else f", oneDNN up to {isa}"
    print(f"torch {torch.__version__}, {name}{limited}, float32 where a line does not say otherwise")
    unknown = set(arguments.operations) - set(CASES)
    if unknown:
        parser.error(f"unknown operation {min(unknown)!r}; there are {', '.join(CASES)}")
    budget = arguments.budget if arguments.budget is not None else math.inf if arguments.large else BUDGET
    for operation in arguments.operations or CASES:
        for shape, runs in CASES[operation](device, arguments.large):
            times = timings(runs, arguments.repeats, device, budget)
            most = times["ours"][math.ceil(0.95 * len(times["ours"])) - 1]
            medians = {who: statistics.median(all_times) for who, all_times in times.items()}
            ours = medians.pop("ours")
            beside = {f"{who} / ours": ms / ours for who, ms in medians.items()}
            ratios = "  ".join(f"{who} = {ratio:.2f}" for who, ratio in beside.items())
            print(f"{operation:21} {shape:32} ours {ours:8.2f} ms, p95 {most:8.2f}   {ratios}", flush=True)
            if arguments.rows:
                dtype = "bfloat16" if "bf16" in shape else "float32"
                values = {"ms": ours, "p95 ms": most, **beside}
                row = {"operation": operation, "shape": shape, "dtype": dtype, "values": values}
                with arguments.rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
