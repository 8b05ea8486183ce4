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
    """State of each attached memory for B streams of tokens; `states` is empty before the first token.

    Every call of the model replaces the states; a saved earlier list can be put back.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.states: list[BlockState] = []

    def reset(self) -> None:
        """Forget everything."""
        self.states = []

    def detach(self) -> None:
        """Cut the graph: gradients of later calls end here (truncated backpropagation through time)."""
        self.states = [state.map(Tensor.detach) for state in self.states]

    def select(self, rows: Tensor) -> None:  # [B'] int64
        """Keep these streams, in this order, possibly repeated."""
        self.states = [state.select(rows.to(state.recent.device)) for state in self.states]

    def delete(self, stream: int, tokens: Sequence[int]) -> None:
        """Delete tokens of one stream from a "retrieval" memory; the first token has number 0.

        With `reach` R, the R - 1 following tokens contain part of it: delete them too. The model's own cache is not
        affected.

        Raises InvalidInputError for a memory of another kind, whose weights mix all that was read, and for an unknown
        stream or token.
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
    """One call of a decoder: the state before it and, by memory, after it."""

    before: list[BlockState]
    store_mask: Tensor | None  # [B, T] bool
    streams: MemoryStreams
    after: dict[int, BlockState] = field(default_factory=dict)


def streams_of(cache: Any) -> MemoryStreams | None:
    """Return the streams attached to a transformers cache."""
    found = getattr(cache, "memory_streams", None)
    return found if isinstance(found, MemoryStreams) else None


def keep_with(cache: Any, streams: MemoryStreams) -> None:
    """Attach streams to a cache: reordering, repeating or selecting its rows does the same with the streams."""
    if not isinstance(cache, _WithMemory):
        kind: type = type(cache)
        cache.__class__ = _with_memory(kind)
    cache.memory_streams = streams


class _WithMemory:
    """Overrides of transformers' `Cache` methods that change its rows, applying the change to the memories."""

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
            "an attached memory cannot unread tokens: detach it for assisted generation, and instead of"
            f" cache.crop({tokens_to_remove}) keep copy.deepcopy(cache) as a way back"
        )


@cached
def _with_memory(cache: type) -> type:
    return type(cache.__name__, (_WithMemory, cache), {})
