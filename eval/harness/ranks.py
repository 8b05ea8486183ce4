"""The processes of a run: which of them this is, what they all must know, and what they count together.

Under torchrun they form a process group, NCCL where there are GPUs and gloo else, which hands the plan out; from then
on they only count in torchrun's key-value store, so that none waits for another in a collective for hours. Without
torchrun there is one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import HashStore, PrefixStore, Store  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

from nscma_torch.core.errors import ConfigError

_OWN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_KINDS = ("GROUP_", "ROLE_", "TORCHELASTIC_")
_TIMEOUT = timedelta(hours=2)  # for the plan: rank 0 reads the data sets first


class Ranks:
    """This process among those of a run.

    Torchrun's variables leave the environment: an engine in this process, or one that it starts, would take them for
    its own group's.

    Args:
        device: the configured one; under torchrun a rank takes the GPU of its local rank, and sees no other.

    Attributes:
        rank: 0 for the one that plans and reports.
        size: how many there are.
        device: 'cpu' or 'cuda', or as it was configured.

    Raises ConfigError where a node has fewer GPUs than ranks.
    """

    def __init__(self, device: str) -> None:
        started = "RANK" in os.environ and "WORLD_SIZE" in os.environ
        self.device = _own_device(device, os.environ) if started else device
        self._grouped = started
        if not started:
            self.rank, self.size = 0, 1
            self._store: Store = HashStore()
            return
        store, self.rank, self.size = next(rendezvous("env://", timeout=_TIMEOUT))
        self._store = PrefixStore("eval", store)
        group = PrefixStore("group", store)
        backend = "nccl" if self._on_gpu else "gloo"
        dist.init_process_group(backend, store=group, rank=self.rank, world_size=self.size, timeout=_TIMEOUT)
        for name in [name for name in os.environ if name in _OWN or name.startswith(_KINDS)]:
            del os.environ[name]

    def agreed(self, value: Any) -> Any:
        """What rank 0 has, on all ranks; waits for all of them."""
        if not self._grouped:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, device=torch.device("cuda" if self._on_gpu else "cpu"))
        return box[0]

    def add(self, name: str, count: int = 1) -> int:
        """Add to a counter that all ranks share, and read it."""
        total: int = self._store.add(name, count)
        return total

    def tell(self, name: str, text: str) -> None:
        """Leave a text for all ranks."""
        self._store.set(name, text.encode(errors="backslashreplace").decode())

    def told(self, name: str) -> str | None:
        """The text that a rank left; None where none did."""
        if not self._store.check([name]):
            return None
        text: bytes = self._store.get(name)
        return text.decode()

    def stop(self, why: str) -> None:
        """Tell all ranks to begin nothing more."""
        self.tell("stop", why)

    @property
    def stopped(self) -> str | None:
        """Why no rank begins anything more; None while they go on."""
        return self.told("stop")

    def leave(self) -> None:
        """Leave the process group."""
        if self._grouped:
            dist.destroy_process_group()

    @property
    def _on_gpu(self) -> bool:
        return self.device.startswith("cuda")


def _own_device(device: str, environment: Mapping[str, str]) -> str:
    """The device of this rank; hides the other GPUs from it, before anything in this process has seen them."""
    if device == "cpu" or (device == "auto" and not torch.cuda.device_count()):
        return "cpu"
    if device not in ("auto", "cuda"):
        raise ConfigError(f"device {device!r} is one GPU for all ranks; leave it out, and each takes its own")
    local, gpus = int(environment["LOCAL_RANK"]), torch.cuda.device_count()
    if local >= gpus:
        raise ConfigError(
            f"rank {local} of this node has no GPU, there are {gpus}: start as many ranks as there are GPUs "
            "(--nproc-per-node gpu), or set device = 'cpu' in [memory]"
        )
    named = environment.get("CUDA_VISIBLE_DEVICES", "")
    os.environ["CUDA_VISIBLE_DEVICES"] = named.split(",")[local] if named else str(local)
    if torch.cuda.device_count() != 1:
        raise ConfigError("torch saw the GPUs before they were dealt out: start each rank with CUDA_VISIBLE_DEVICES")
    torch.cuda.set_device(0)
    return "cuda"
