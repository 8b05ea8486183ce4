"""What a run is on: the names of its chips, and of the files that only this process writes."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path

import torch

_CPU_INFO = Path("/proc/cpuinfo")


def cpu_name() -> str:
    """As the kernel has it, else what the interpreter knows."""
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()


def chip_name(device: torch.device) -> str:
    """Of what computes there."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else cpu_name()


def unfinished(path: Path) -> Path:
    """Where to write a file until it is whole: beside it, by a name that no other process on any host takes."""
    return path.with_name(f"{path.name}.{socket.gethostname()}.{os.getpid()}.part")
