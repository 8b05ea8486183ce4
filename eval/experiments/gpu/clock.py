"""Time and memory of calls on a device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

import torch


def milliseconds(runs: Mapping[str, Callable[[], object]], device: torch.device, repeats: int) -> dict[str, float]:
    """The median of each, taken in turns after one warm-up; of the clock on a GPU, of the processor on a CPU."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    now = time.perf_counter if device.type == "cuda" else time.process_time
    for turn in range(repeats + 1):
        for name, run in runs.items():
            synchronize(device)
            begin = now()
            run()
            synchronize(device)
            if turn:
                times[name].append(1000 * (now() - begin))
    return {name: statistics.median(taken) for name, taken in times.items()}


def synchronize(device: torch.device) -> None:
    """Wait for what was started there."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
