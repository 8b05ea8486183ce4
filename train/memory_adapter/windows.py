"""Language modelling in windows: the base model reads a text in pieces that don't see each other, and only an attached
memory carries what came before (the setting of Titans, Behrouz et al. 2025, section 4, and of Memorizing Transformers).

Shape legend: B sequences, T tokens of a sequence, W tokens of a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nscma_torch import AttachedMemory


def window_losses(
    model: Any,
    tokens: Tensor,  # [B, T] int64
    window: int,
    memory: AttachedMemory | None = None,
) -> Tensor:  # [ceil(T / W)]
    """Mean nats per token of each window. With a memory, a window is read after those before it; without one, alone.

    The first token of a window is read but not predicted.
    """
    with nullcontext() if memory is None else memory.session():
        return torch.stack(
            [model(input_ids=piece, labels=piece, use_cache=False).loss for piece in torch.split(tokens, window, 1)]
        )


@dataclass(frozen=True, slots=True)
class Losses:
    """Nats per token of each sequence, averaged over its windows after the first.

    Attributes:
        alone: of the base model.
        emptied: with the memory, which is empty at the start of each window.
        carried: with the memory, which has read the windows before.
    """

    alone: Sequence[float]
    emptied: Sequence[float]
    carried: Sequence[float]

    def row(self, seed: int = 0, samples: int = 2000) -> dict[str, Any]:
        """Means, and the 95 % bootstrap intervals, over sequences, of what the memory changes."""
        rng = np.random.default_rng(seed)
        alone, emptied, carried = (np.asarray(some) for some in (self.alone, self.emptied, self.carried))
        drawn = rng.integers(len(alone), size=(samples, len(alone)))
        changes = {"all": carried - alone, "what it carries": carried - emptied}
        return {
            "sequences": len(alone),
            "nats without memory": round(float(alone.mean()), 4),
            "emptied at each window": round(float(emptied.mean()), 4),
            "carried": round(float(carried.mean()), 4),
            **{
                f"change, {name}": [
                    round(float(value), 4)
                    for value in (change.mean(), *np.quantile(change[drawn].mean(1), [0.025, 0.975]))
                ]
                for name, change in changes.items()
            },
        }


@torch.no_grad()
def losses_of(
    model: Any,
    memory: AttachedMemory,
    sequences: Sequence[Tensor],  # each [1, T]
    window: int,
    alone: Sequence[float],
) -> Losses:
    """Measure with the memory, whose base model alone has the losses `alone` of `alone_losses`."""
    emptied, carried = [], []
    for tokens in sequences:
        pieces = torch.split(tokens, window, 1)[1:]
        emptied.append(float(torch.stack([window_losses(model, piece, window)[0] for piece in pieces]).mean()))
        carried.append(float(window_losses(model, tokens, window, memory)[1:].mean()))
    return Losses(alone, emptied, carried)


@torch.no_grad()
def alone_losses(model: Any, sequences: Sequence[Tensor], window: int) -> list[float]:
    """Mean nats per token of each sequence after its first window, by a model without a memory."""
    return [float(window_losses(model, tokens, window)[1:].mean()) for tokens in sequences]
