"""Memory as context (Titans, MAC, section 4.1): a layer attends again to its segment, with memory tokens before it.

Shape legend: B streams, N tokens in all segments, L tokens in a full segment, P persistent tokens, D hidden size, E
width of a head's rotary embedding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nscma_kernels.pytree import named_tuple_as_pytree


@named_tuple_as_pytree
class SegmentState(NamedTuple):
    """The tokens in a segment so far, with the memory token for each."""

    hidden: Tensor  # [B, N, D] inputs of the attention
    recalled: Tensor  # [B, N, D] the memory's recall for each
    rotary: Tensor | None  # [B, N, 2, E] cosines and sines of the position; None where positions are in `hidden`
    real: Tensor  # [B, N] bool; false: padding

    def map(self, change: Callable[[Tensor], Tensor]) -> SegmentState:
        """Return the state with `change` applied to every tensor."""
        rotary = None if self.rotary is None else change(self.rotary)
        return SegmentState(change(self.hidden), change(self.recalled), rotary, change(self.real))

    def joined(self, new: SegmentState) -> SegmentState:
        """Return these tokens followed by the new ones."""
        rotary = None if self.rotary is None or new.rotary is None else _after(self.rotary, new.rotary)
        hidden, recalled = _after(self.hidden, new.hidden), _after(self.recalled, new.recalled)
        return SegmentState(hidden, recalled, rotary, _after(self.real, new.real))


Attend = Callable[[Tensor, Tensor, Tensor | None], Tensor]  # hidden, additive mask, rotary -> output


def attend_with_memory(
    tokens: SegmentState,  # N tokens from the start of a segment on
    persistent: Tensor,  # [P, D]
    size: int,
    attend: Attend,
) -> Tensor:
    """Return the attention's output [B, N, D] if each segment is read as [persistent, recalled, segment].

    A token sees the persistent tokens and, within its segment, the tokens up to itself and their memory tokens. Each
    memory token was recalled by its own token, so later memory tokens stay hidden (the paper shows them all). A memory
    token has the rotary position of its own token; a persistent token has that of the segment's first token.
    """
    batch, length = tokens.real.shape
    size = min(size, length)
    number = -(-length // size)
    hidden, recalled, rotary, real = tokens.map(lambda tensor: _cut(tensor, number, size))
    count, rows = len(persistent), len(hidden)
    first = persistent.to(hidden.dtype).expand(rows, count, -1)
    read = torch.cat([first, recalled.to(hidden.dtype), hidden], 1)
    if rotary is not None:
        rotary = torch.cat([rotary[:, :1].expand(-1, count, -1, -1), rotary, rotary], 1)
    causal = torch.ones(size, size, dtype=torch.bool, device=hidden.device).tril()
    seen = causal & real[:, None]
    visible = seen.new_zeros(rows, count + 2 * size, count + 2 * size)
    visible[:, :, :count] = True
    visible[:, count : count + size, count : count + size] = torch.eye(size, dtype=torch.bool, device=hidden.device)
    visible[:, count + size :, count:] = torch.cat([seen, seen], -1)
    mask = torch.zeros_like(visible, dtype=hidden.dtype).masked_fill(~visible, torch.finfo(hidden.dtype).min)
    out = attend(read, mask[:, None], rotary)[:, count + size :]
    return out.reshape(batch, number * size, -1)[:, :length]


def _after(one: Tensor, other: Tensor) -> Tensor:
    return torch.cat([one.to(other.dtype), other], 1)


def _cut(tensor: Tensor, number: int, size: int) -> Tensor:
    """Cut [B, N, ...] into [B * number, size, ...], padded with zeros at the end."""
    missing = number * size - tensor.shape[1]
    if missing:
        tensor = functional.pad(tensor, (*(0, 0) * (tensor.ndim - 2), 0, missing))
    return tensor.reshape(len(tensor) * number, size, *tensor.shape[2:])
