"""`kernels/bench.py` of one operation, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch

from eval.experiments.gpu.part import Measure, Row

ROOT = Path(__file__).parents[3]
OPERATIONS: Mapping[str, tuple[str, ...]] = {  # and the packages that its cases need
    "batched_clusters": ("torch_geometric",),
    "ego_split": (),
    "knn_graph": (),
    "label_propagation": (),
    "memory_scan": (),
    "personalized_pagerank": (),
    "rolling_stats": (),
    "scored_topk": (),
    "token_nll": (),
}


def kernel_speed(operation: str) -> Callable[[], Measure]:
    """The cases of an operation, each beside its peers."""

    def measure(device: torch.device, quick: bool) -> Iterator[Row]:
        effort = ["--repeats", "1", "--budget", "0"] if quick else ["--repeats", "5", "--budget", "2"]
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows.jsonl"
            command = [sys.executable, "kernels/bench.py", operation, "--device", str(device), "--rows", str(rows)]
            try:
                subprocess.run([*command, *effort], cwd=ROOT, check=True)
            finally:
                lines = rows.read_text(encoding="utf-8").splitlines() if rows.exists() else []
                for line in lines:
                    row = json.loads(line)
                    yield Row("ours beside peers", row["shape"], row["dtype"], row["values"])

    return lambda: measure
