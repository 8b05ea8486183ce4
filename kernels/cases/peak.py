"""Measure the peak memory of a call."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile


def peak_bytes(run: Callable[[], object], device: torch.device) -> int:
    """Return the peak bytes of tensors beyond those existing before, including results."""
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        return torch.cuda.max_memory_allocated() - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        kept = run()
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    total = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        total += event.nbytes()
        most = max(most, total)
    del kept
    return most
