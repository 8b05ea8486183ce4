"""Keep the state of attached memories between calls: in the key-value cache, or in a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache as cached
from typing import Any

import torch
from torch import Tensor

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.neural.memory_block import BlockState
from nscma_torch.neural.retrieval_attention import KeyValueState


class MemoryStreams:
    """The state of each attached memory for B streams of tokens. `states` is empty before the first token.

    Every call of the model replaces the list `states`; an earlier list that was saved can be restored.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.states: list[BlockState] = []

    def reset(self) -> None:
        """Forget everything."""
        self.states = []

    def detach(self) -> None:
        """Detach the states from the graph, so that gradients in later calls end here (truncated backpropagation
        through time).
        """
        self.states = [state.map(Tensor.detach) for state in self.states]

    def select(self, rows: Tensor) -> None:  # [B'] int64
        """Keep only these streams, in this order, possibly repeated."""
        self.states = [state.select(rows.to(state.recent.device)) for state in self.states]

    def delete(self, stream: int, tokens: Sequence[int]) -> None:
        """Delete tokens of one stream from a "retrieval" memory; the first token has number 0.

        With `reach` R, the R - 1 tokens that follow contain part of a token, so delete them too. The model's own cache
        isn't affected.

        Raises `InvalidInputError` for an unknown stream or token, and for a memory of another kind, because its weights
        mix all tokens read.
        """
        known = [state.memory for state in self.states if isinstance(state.memory, KeyValueState)]
        if len(known) < len(self.states):
            raise InvalidInputError('only kind="retrieval" can delete single tokens: reset() the streams instead')
        if not 0 <= stream < (self.batch or 0):
            raise InvalidInputError(f"stream must be a number below {self.batch or 0}, got {stream}")
        read = known[0].first + known[0].stored.shape[1]
        if not all(0 <= token < read for token in tokens):
            raise InvalidInputError(f"tokens must be numbers below {read}, of those read, got {[*tokens][:9]}")
        self.states = [
            replace(state, memory=memory.without(stream, torch.tensor(tokens, device=memory.keys.device)))
            for state, memory in zip(self.states, known, strict=True)
        ]

    @property
    def batch(self) -> int | None:
        """Return B, or None before the first token."""
        return len(self.states[0].recent) if self.states else None


@dataclass
class Call:
    """One call of a decoder, with the state before it and the state of each memory after it."""

    before: list[BlockState]
    store_mask: Tensor | None  # [B, T] bool
    streams: MemoryStreams
    after: dict[int, BlockState] = field(default_factory=dict)


def streams_of(cache: Any) -> MemoryStreams | None:
    """Return the streams attached to a transformers cache."""
    found = getattr(cache, "memory_streams", None)
    return found if isinstance(found, MemoryStreams) else None


def keep_with(cache: Any, streams: MemoryStreams) -> None:
    """Attach streams to a cache, so that reordering, repeating or selecting the cache's rows does the same to the
    streams.
    """
    if not isinstance(cache, _WithMemory):
        kind: type = type(cache)
        cache.__class__ = _with_memory(kind)
    cache.memory_streams = streams


class _WithMemory:
    """Overrides the methods of transformers' `Cache` that change its rows, to apply the same change to the memories."""

    memory_streams: MemoryStreams

    def reorder_cache(self, beam_idx: Tensor) -> None:
        super().reorder_cache(beam_idx)  # type: ignore[misc]
        self.memory_streams.select(beam_idx)

    def batch_repeat_interleave(self, repeats: int) -> None:
        super().batch_repeat_interleave(repeats)  # type: ignore[misc]
        rows = torch.arange(self.memory_streams.batch or 0)
        self.memory_streams.select(rows.repeat_interleave(repeats))

    def batch_select_indices(self, indices: Tensor) -> None:
        super().batch_select_indices(indices)  # type: ignore[misc]
        self.memory_streams.select(indices if indices.dtype != torch.bool else indices.nonzero().flatten())

    def reset(self) -> None:
        super().reset()  # type: ignore[misc]
        self.memory_streams.reset()

    def crop(self, tokens_to_remove: int) -> None:
        raise InvalidInputError(
            "an attached memory cannot roll back tokens: detach it for assisted generation; to rewind, restore an"
            f" earlier copy.deepcopy(cache) instead of calling cache.crop({tokens_to_remove})"
        )


@cached
def _with_memory(cache: type) -> type:
    return type(cache.__name__, (_WithMemory, cache), {})
