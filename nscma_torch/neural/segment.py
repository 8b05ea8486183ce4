"""Memory as context (Titans, MAC, section 4.1): a layer attends once more to its segment, with memory tokens before it.

Shape legend: B streams, N tokens of segments, L tokens of a full segment, P persistent tokens, D hidden size, E width
of a head's rotary embedding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import torch
from torch import Tensor
from torch.nn import functional


class SegmentState(NamedTuple):
    """The tokens of a segment so far, and the memory token of each."""

    hidden: Tensor  # [B, N, D] inputs of the attention
    recalled: Tensor  # [B, N, D] what the memory recalled for each
    cos: Tensor  # [B, N, E] rotary position embedding
    sin: Tensor  # [B, N, E]
    real: Tensor  # [B, N] bool; false: padding

    def map(self, change: Callable[[Tensor], Tensor]) -> Self:
        """The state with every tensor changed."""
        return type(self)(*map(change, self))

    def joined(self, new: SegmentState) -> SegmentState:
        """These tokens and the new ones after them."""
        return SegmentState(*(torch.cat([one.to(other.dtype), other], 1) for one, other in zip(self, new, strict=True)))


Attend = Callable[[Tensor, Tensor, tuple[Tensor, Tensor]], Tensor]  # hidden, additive mask, (cos, sin) -> output


def attend_with_memory(
    tokens: SegmentState,  # N tokens from the start of a segment on
    persistent: Tensor,  # [P, D]
    size: int,
    attend: Attend,
) -> Tensor:
    """The attention's output [B, N, D] where each segment is read as [persistent, recalled, segment].

    A token sees the persistent tokens, and of its segment the tokens up to itself and their memory tokens: what a
    memory token holds was recalled by its own token, so later ones stay unseen (the paper shows them all). A memory
    token has the rotary position of its own token, a persistent one that of the segment's first.
    """
    batch, length = tokens.real.shape
    size = min(size, length)
    number = -(-length // size)
    hidden, recalled, cos, sin, real = (_cut(tensor, number, size) for tensor in tokens)
    count, rows = len(persistent), len(hidden)
    first = persistent.to(hidden.dtype).expand(rows, count, -1)
    read = torch.cat([first, recalled.to(hidden.dtype), hidden], 1)
    rotary = tuple(torch.cat([table[:, :1].expand(-1, count, -1), table, table], 1) for table in (cos, sin))
    causal = torch.ones(size, size, dtype=torch.bool, device=hidden.device).tril()
    seen = causal & real[:, None]
    visible = seen.new_zeros(rows, count + 2 * size, count + 2 * size)
    visible[:, :, :count] = True
    visible[:, count : count + size, count : count + size] = torch.eye(size, dtype=torch.bool, device=hidden.device)
    visible[:, count + size :, count:] = torch.cat([seen, seen], -1)
    mask = torch.zeros_like(visible, dtype=hidden.dtype).masked_fill(~visible, torch.finfo(hidden.dtype).min)
    out = attend(read, mask[:, None], (rotary[0], rotary[1]))[:, count + size :]
    return out.reshape(batch, number * size, -1)[:, :length]


def _cut(tensor: Tensor, number: int, size: int) -> Tensor:
    """[B, N, ...] -> [B * number, size, ...], padded with zeros at the end."""
    missing = number * size - tensor.shape[1]
    if missing:
        tensor = functional.pad(tensor, (*(0, 0) * (tensor.ndim - 2), 0, missing))
    return tensor.reshape(len(tensor) * number, size, *tensor.shape[2:])
