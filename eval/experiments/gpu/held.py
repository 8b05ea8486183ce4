"""Bytes that a model holds: what the allocator gave out on a GPU, the tensors themselves on a CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


class Held:
    """Bytes that came to be held, known when the block ends."""

    bytes = 0

    def __init__(self) -> None:
        self._tensors = 0

    def count(self, model: torch.nn.Module) -> None:
        """The model's parameters and buffers, scales of 4-bit weights included: what counts on a CPU."""
        for tensor in [*model.parameters(), *model.buffers()]:
            self._tensors += tensor.nbytes + _scales(getattr(tensor, "quant_state", None))


@contextmanager
def held_bytes(device: torch.device) -> Iterator[Held]:
    """Measures a block, which keeps what it makes and names the model on a CPU."""
    held = Held()
    if device.type == "cuda":
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
    yield held
    if device.type == "cuda":
        torch.cuda.synchronize()
        held.bytes = torch.cuda.memory_allocated() - before
    else:
        held.bytes = held._tensors


def _scales(state: Any) -> int:
    if state is None:
        return 0
    inner = state.state2
    return sum(part.nbytes for part in (state.absmax, state.code, state.offset, inner.absmax, inner.code))
