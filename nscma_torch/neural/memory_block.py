"""One memory attached to one decoder layer, with its own width, and its state between calls.

Shape legend: B streams, T tokens, D hidden size of the decoder, M = `dim` of the memory, R = `reach`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from nscma_kernels.pytree import as_pytree
from nscma_torch.neural.neural_memory import NeuralMemory
from nscma_torch.neural.retrieval_attention import KeyValueState, RetrievalAttention
from nscma_torch.neural.segment import SegmentState
from nscma_torch.neural.state import NeuralMemoryState


@as_pytree()
@dataclass(frozen=True)
class BlockState:
    """Immutable state of one block for B streams."""

    memory: NeuralMemoryState | KeyValueState
    recent: Tensor  # [B, R - 1, D] the last inputs, zero before the first
    segment: SegmentState | None = None  # memory as context: the tokens of the segment that is not full

    def map(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return the state with `change` applied to every tensor."""
        segment = None if self.segment is None else self.segment.map(change)
        return replace(self, memory=self.memory.map(change), recent=change(self.recent), segment=segment)

    def with_segment(self, tokens: SegmentState, size: int) -> Self:
        """Return the state with the tokens that remain after full segments of `size` tokens are removed
        from the front.
        """
        full = tokens.real.shape[1] // size * size
        return replace(self, segment=tokens.map(lambda tensor: tensor[:, full:]))

    def select(self, rows: Tensor) -> Self:  # rows: [B'] int64, streams of the new batch
        """Return the state for a selection of the streams, in any order, possibly repeated."""
        segment = None if self.segment is None else self.segment.map(lambda tensor: tensor[rows])
        memory = self.memory.select(rows, len(self.recent))
        return replace(self, memory=memory, recent=self.recent[rows], segment=segment)


torch.serialization.add_safe_globals([BlockState, SegmentState])  # so that kept states load with weights_only


class MemoryBlock(nn.Module):
    """Projects a layer's hidden states into a memory, and projects the memory's recall back.

        u_t = [ rms(h_t), rms(h_{t-1}), ..., rms(h_{t-R+1}) ] D      m_t = memory(u)_t U

    Concatenating the inputs of R tokens replaces the convolution in Titans (section 4.4), so that a value can be stored
    under the token before it. Everything is computed in the dtype of the block's parameters.

    Args:
        hidden: D.
        memory: the memory, with width M.
        reach: R; 1 uses only the token itself.
    """

    def __init__(self, hidden: int, memory: NeuralMemory | RetrievalAttention, reach: int) -> None:
        super().__init__()
        self.hidden, self.reach = hidden, reach
        self.memory, dim = memory, memory.dim
        self.down = nn.Linear(hidden * reach, dim, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        if reach > 1 and dim > 1:
            self._associate(dim // 2)

    @torch.no_grad()
    def _associate(self, half: int) -> None:
        """Initialise the block as an associative memory: a token is stored under its predecessor and looked up under
        itself.

        One half of u is the token, and the other half is the same projection of its predecessor. Queries read the first
        half and keys the second, through one matrix. With the usual random initialisation, training must first find
        that match, which shows as a plateau.
        """
        nn.init.zeros_(self.down.weight)
        nn.init.orthogonal_(self.down.weight[:half, : self.hidden])
        self.down.weight[half : 2 * half, self.hidden : 2 * self.hidden] = self.down.weight[:half, : self.hidden]
        queries, keys = self.memory.to_queries.weight, self.memory.to_keys.weight
        keys.zero_()
        keys[:, half : 2 * half] = queries[:, :half]
        queries[:, half:] = 0

    def init_state(self, batch: int) -> BlockState:
        """Return the state for streams that have read nothing."""
        return BlockState(self.memory.init_state(batch), self.down.weight.new_zeros(batch, self.reach - 1, self.hidden))

    def forward(
        self,
        hidden: Tensor,  # [B, T, D]
        state: BlockState,
        store_mask: Tensor | None = None,  # [B, T] bool
    ) -> tuple[Tensor, BlockState]:
        """Return the memory's recall [B, T, D] for each token, and the state after the tokens.

        A token with a false `store_mask` (padding) is not stored, and the next token treats it as absent.
        """
        x = functional.rms_norm(hidden.to(self.down.weight.dtype), (self.hidden,), eps=1e-6)
        if store_mask is not None:
            x = torch.where(store_mask[..., None], x, 0)
        length = x.shape[1]
        joined = torch.cat([state.recent.to(x.dtype), x], 1)
        taps = [joined[:, self.reach - 1 - lag : self.reach - 1 - lag + length] for lag in range(self.reach)]
        y, memory = self.memory(self.down(torch.cat(taps, -1)), state.memory, store_mask=store_mask)
        return self.up(y), replace(state, memory=memory, recent=joined[:, length:])
