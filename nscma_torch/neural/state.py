"""The state of a `NeuralMemory`, in memory and on disk."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import torch
from safetensors.torch import save_file
from torch import Tensor

from nscma_kernels.memory_state import MemoryState, Pending
from nscma_kernels.pytree import as_pytree
from nscma_torch.core.tensor_files import all_tensors, open_tensors


@as_pytree("position", "norm", "segment", "chunk")
@dataclass(frozen=True)
class NeuralMemoryState(MemoryState):
    """State that a `NeuralMemory` learned from B streams. Its tensors have B * heads rows, with heads varying fastest.

    It is immutable: every call returns a new one, so an old state remains usable. `detach()` cuts the graph,
    `to(device)` moves it. Only a module with the same `segment` and `chunk` can continue from it.

    `save` writes a file that only this class reads. To store the state in your own checkpoint, use `torch.save`;
    `torch.load(..., weights_only=True)` reads it once `NeuralMemory` or this class has been imported.

    It is a pytree, so `torch.export` accepts and returns it. An exported program only works for states at one position
    in the segment with the same number of pending tokens.
    """

    segment: int | None = None  # tokens whose gradients are taken at the weights of their start; None: of the first
    chunk: int | None = None  # tokens written as one step

    def restored(self, weights: tuple[Tensor, ...], momentum: tuple[Tensor, ...]) -> Self:
        """Return a fresh state with these weights and momentum, as at the start of a segment.

        Each has L tensors [B * heads, in, out].
        """
        return replace(self, weights=weights, momentum=momentum, base=weights)

    def select(self, rows: Tensor, batch: int) -> Self:  # rows: [B'] int64, of the B streams that these are
        """Return the state for a selection of the streams, in any order, possibly repeated."""
        heads = len(self.weights[0]) // batch
        inner = (rows[:, None] * heads + torch.arange(heads, device=rows.device)).flatten()
        return self.map(lambda tensor: tensor[inner])

    def save(self, path: str | Path) -> None:
        """Write the state, including pending tokens, to a safetensors file."""
        tensors: dict[str, Tensor] = {}
        for name, layers in (("weights", self.weights), ("momentum", self.momentum), ("base", self.base)):
            if name != "base" or self.base is not self.weights:
                tensors |= {f"{name}.{i}": layer for i, layer in enumerate(layers)}
        waiting = self.pending._asdict().items()
        tensors |= {f"pending.{name}": tensor for name, tensor in waiting if tensor is not None}
        tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
        numbers = {"position": self.position, "norm": int(self.norm), "segment": self.segment, "chunk": self.chunk}
        save_file(tensors, path, metadata={name: json.dumps(number) for name, number in numbers.items()})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file written by `save`, bit for bit, with tensors on the CPU.

        Raises:
            ModelNotFoundError: the file is missing.
            ModelError: the file contains something else.
        """
        missing = f"no state at {path}: write one with NeuralMemoryState.save"
        with open_tensors(path, "the state of a NeuralMemory", missing=missing) as file:
            tensors = all_tensors(file)
            numbers = {name: json.loads(number) for name, number in (file.metadata() or {}).items()}
            weights = _layers(tensors, "weights")
            waiting = {name: tensors[f"pending.{name}"] for name in ("k", "v", "theta", "eta", "alpha")}
            return cls(
                weights=weights,
                momentum=_layers(tensors, "momentum"),
                base=_layers(tensors, "base") or weights,
                pending=Pending(**waiting, stored=tensors.get("pending.stored")),
                position=numbers["position"],
                norm=numbers["norm"] == 1,
                segment=numbers["segment"],
                chunk=numbers["chunk"],
            )


torch.serialization.add_safe_globals([NeuralMemoryState, Pending])  # plain values: loading them runs no code of theirs


def _layers(tensors: dict[str, Tensor], name: str) -> tuple[Tensor, ...]:
    return tuple(tensors[f"{name}.{i}"] for i in range(len(tensors)) if f"{name}.{i}" in tensors)
