"""The state of a `SurpriseGate`, in memory and on disk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import torch
from safetensors.torch import save_file
from torch import Tensor

from nscma_torch.core.tensor_files import open_tensors


@dataclass(frozen=True)
class SurpriseGateState:
    """The last N scores from B streams, from which mu and sigma are computed.

    It is immutable: every call returns a new state. It is detached from any graph.
    """

    values: Tensor  # [B, N] float32, newest last; the first N - count of a stream mean nothing
    count: Tensor  # [B] int64, how many there are, at most N
    rule: str  # the kind of scores

    def to(self, device: str | torch.device) -> Self:
        """Return the same state on another device."""
        return replace(self, values=self.values.to(device), count=self.count.to(device))

    def save(self, path: str | Path) -> None:
        """Write the state to a safetensors file."""
        tensors = {"values": self.values.cpu().contiguous(), "count": self.count.cpu().contiguous()}
        save_file(tensors, path, metadata={"rule": self.rule})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file written by `save`, bit for bit, with tensors on the CPU.

        Raises:
            ModelNotFoundError: the file is missing.
            ModelError: the file contains something else.
        """
        missing = f"no state at {path}: write one with SurpriseGateState.save"
        with open_tensors(path, "the state of a SurpriseGate", missing=missing) as file:
            return cls(file.get_tensor("values"), file.get_tensor("count"), (file.metadata() or {})["rule"])


torch.serialization.add_safe_globals([SurpriseGateState])  # so that a checkpoint with one loads with weights_only
