"""The state of `memory_scan`, the result of all tokens read so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, Self

import torch
from torch import Tensor

from nscma_kernels.pytree import as_pytree, named_tuple_as_pytree


@named_tuple_as_pytree
class Pending(NamedTuple):
    """The P < chunk tokens in an incomplete chunk, which have had no effect so far."""

    k: Tensor  # [B, P, D]
    v: Tensor  # [B, P, E]
    theta: Tensor  # [B, P]
    eta: Tensor  # [B, P] logits
    alpha: Tensor  # [B, P] logits
    stored: Tensor | None  # [B, P] bool; None: all


@as_pytree("position", "norm")
@dataclass(frozen=True)
class MemoryState:
    """Weights and momentum for B memories with L layers each, and the streams' position in their chunk and segment.

    Tensors are float32 or float64 and never changed in place. All streams in a batch are at the same position.
    """

    weights: tuple[Tensor, ...]  # L of [B, in, out]: M
    momentum: tuple[Tensor, ...]  # L of [B, in, out]: S
    base: tuple[Tensor, ...]  # L of [B, in, out]: the weights at the start of the segment
    pending: Pending
    position: int = 0  # tokens of the segment that the weights hold
    norm: bool = False  # whether the recalled value is normed and added to the key: see `recall`

    @classmethod
    def fresh(cls, weights: tuple[Tensor, ...], *, norm: bool = False) -> Self:
        """Create a memory that has read nothing, with the given weights [B, in, out] and no momentum.

        Raises `ValueError` if the layers don't match each other, or aren't float32 or float64.
        """
        _check(weights, norm)
        batch, first, last = len(weights[0]), weights[0].shape[1], weights[-1].shape[2]
        none = weights[0].new_empty(batch, 0)
        pending = Pending(none.new_empty(batch, 0, first), none.new_empty(batch, 0, last), none, none, none, None)
        return cls(weights, tuple(map(torch.zeros_like, weights)), weights, pending, norm=norm)

    def map(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return the state with `change` applied to every tensor. Shared tensors stay shared."""
        changed: dict[int, Tensor] = {}

        def once(tensor: Tensor) -> Tensor:
            if id(tensor) not in changed:
                changed[id(tensor)] = change(tensor)
            return changed[id(tensor)]

        k, v, theta, eta, alpha, stored = self.pending
        return replace(
            self,
            weights=tuple(map(once, self.weights)),
            momentum=tuple(map(once, self.momentum)),
            base=tuple(map(once, self.base)),
            pending=Pending(
                once(k), once(v), once(theta), once(eta), once(alpha), None if stored is None else once(stored)
            ),
        )

    def detach(self) -> Self:
        """Return the same state, detached from its graph."""
        return self.map(torch.Tensor.detach)

    def to(self, device: str | torch.device) -> Self:
        """Return the same state on another device."""
        return self.map(lambda tensor: tensor.to(device))


def _check(weights: tuple[Tensor, ...], norm: bool) -> None:
    shapes = [list(weight.shape) for weight in weights]
    if not weights or any(weight.ndim != 3 for weight in weights):
        raise ValueError(f"weights must be one or more tensors [B, in, out], got {shapes}")
    chained = all(one[0] == other[0] and one[2] == other[1] for one, other in pairwise(shapes))
    if not chained:
        raise ValueError(f"each layer [B, in, out] must take the previous one's output, got {shapes}")
    if norm and shapes[0][1] != shapes[-1][2]:
        raise ValueError(f"norm=True adds the recalled value to the key: both must have the same width, got {shapes}")
    kinds = {weight.dtype for weight in weights}
    if kinds not in ({torch.float32}, {torch.float64}):
        raise ValueError(f"weights must all be float32 or all float64: other dtypes lose small updates; got {kinds}")
