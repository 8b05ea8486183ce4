"""Hooks that place a memory in a decoder layer: gate, context, layer (Titans, section 4) and retrieval."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.hooks import RemovableHandle

from nscma_torch.core.errors import InvalidInputError, ModelError
from nscma_torch.neural.decoder_layers import SUPPORTED
from nscma_torch.neural.memory_block import BlockState, MemoryBlock
from nscma_torch.neural.neural_memory import NeuralMemory
from nscma_torch.neural.retrieval_attention import RetrievalAttention
from nscma_torch.neural.segment import SegmentState, attend_with_memory
from nscma_torch.neural.streams import Call

Kind = Literal["gate", "context", "layer", "retrieval"]


class Attended(NamedTuple):
    """One run of a layer's attention."""

    attention: nn.Module
    hidden: Tensor  # [B, T, D] its input
    out: Tensor  # [B, T, D] its output
    position_embeddings: tuple[Tensor, Tensor] | None  # cos, sin [B or 1, T, E]; None where positions are in `hidden`


class Placement(nn.Module):
    """A `MemoryBlock` and its integration into one layer. Initially, it leaves the layer's output exactly unchanged."""

    def __init__(self, hidden: int, *, dim: int | None, reach: int, persistent: int, **memory: Any) -> None:
        super().__init__()
        if reach < 1 or persistent < 0:
            raise InvalidInputError(f"reach must be positive and persistent not negative, got {reach}, {persistent}")
        self.block = MemoryBlock(hidden, self.make_memory(min(hidden, 256) if dim is None else dim, **memory), reach)
        self._slot = 0
        self._now: Call | None = None

    def make_memory(
        self, dim: int, *, k: int = 32, capacity: int | None = None, **options: Any
    ) -> NeuralMemory | RetrievalAttention:
        """Create a memory with this width. All kinds take the same arguments."""
        del k, capacity  # of retrieval alone
        return NeuralMemory(dim, **options)

    def init_state(self, batch: int) -> BlockState:
        """Return the state for streams that have read nothing."""
        return self.block.init_state(batch)

    def hook(self, layer: nn.Module, attention: nn.Module, slot: int) -> list[RemovableHandle]:
        """Add hooks to a decoder layer and its attention. `slot` is the position of the layer's state in a call."""
        self._slot = slot
        return [
            layer.register_forward_pre_hook(self._enter, with_kwargs=True),
            attention.register_forward_hook(self._attended, with_kwargs=True),
            layer.register_forward_hook(self._leave, always_call=True),
        ]

    def recall(self, hidden: Tensor) -> tuple[Tensor, BlockState, BlockState]:  # [B, T, D]
        """Return the memory's recall [B, T, D] for the tokens, in the memory's own dtype, and the states before and
        after.
        """
        call, slot = self._call(), self._slot
        recalled, after = self.block(hidden, call.before[slot], call.store_mask)
        call.after[slot] = after
        return recalled, call.before[slot], after

    def before_layer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Transform the layer's input. By default, it is unchanged."""
        return args, kwargs

    def after_attention(self, run: Attended) -> Tensor:
        """Transform the attention output [B, T, D] that the layer adds to its residual stream. By default, it is
        unchanged.
        """
        return run.out

    def _enter(self, _layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        kwargs = dict(kwargs)
        self._now = kwargs.pop("memory_call", None)
        if self._now is None:
            raise ModelError(
                "a layer with a memory was called by itself, or by a decoder that does not pass its keyword arguments"
                f" on to its layers: detach() the memory; it goes into {SUPPORTED}"
            )
        return self.before_layer(args, kwargs)

    def _attended(self, attention: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        hidden = args[0] if args else kwargs["hidden_states"]
        several = isinstance(output, tuple)
        out = output[0] if several else output
        out = self.after_attention(Attended(attention, hidden, out, kwargs.get("position_embeddings")))
        return (out, *output[1:]) if several else out

    def _leave(self, *_: Any) -> None:
        self._now = None

    def _call(self) -> Call:
        assert self._now is not None, "the layer was called outside its decoder"
        return self._now


class MemoryAsGate(Placement):
    """Memory parallel to the attention: o = attention + sigmoid(a rms(attention) + b) m (MAG, equations 26 to 28)."""

    def __init__(self, hidden: int, **options: Any) -> None:
        super().__init__(hidden, **options)
        self.scale = nn.Parameter(torch.zeros(hidden))
        self.bias = nn.Parameter(torch.zeros(hidden))
        nn.init.zeros_(self.block.up.weight)

    def after_attention(self, run: Attended) -> Tensor:
        recalled, _, _ = self.recall(run.hidden)
        attended = functional.rms_norm(run.out.to(recalled.dtype), (run.out.shape[-1],), eps=1e-6)
        gate = torch.sigmoid(self.scale * attended + self.bias)
        return run.out + (gate * recalled).to(run.out.dtype)


class RetrievalAsGate(MemoryAsGate):
    """Like `MemoryAsGate`, but m comes from attention to the k nearest keys in earlier segments (Wu et al. 2022).

    The paper blends g m + (1 - g) attention, with g = sigmoid(b) for each head, and uses the keys and values of the
    layer's own attention. Here, m has its own projections and is added, so a frozen model is initially unchanged.
    """

    def make_memory(
        self,
        dim: int,
        *,
        k: int = 32,
        capacity: int | None = None,
        heads: int = 1,
        segment: int = 64,
        **options: Any,
    ) -> RetrievalAttention:
        del options  # of NeuralMemory alone
        return RetrievalAttention(dim, heads=heads, k=k, segment=segment, capacity=capacity)


class MemoryAsLayer(Placement):
    """Memory before the attention: the layer reads h + m (MAL, equation 29, with the residual stream)."""

    def __init__(self, hidden: int, **options: Any) -> None:
        super().__init__(hidden, **options)
        nn.init.zeros_(self.block.up.weight)

    def before_layer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        hidden = args[0] if args else kwargs["hidden_states"]
        recalled, _, _ = self.recall(hidden)
        hidden = hidden + recalled.to(hidden.dtype)
        return ((hidden, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": hidden})


class MemoryAsContext(Placement):
    """Memory before the segment: o = attention + tanh(b) (attention([persistent, m, segment]) - attention).

    This is MAC (section 4.1). The memory is written from the layer's input, while the paper uses the attention's
    output.
    """

    def __init__(self, hidden: int, *, persistent: int, **options: Any) -> None:
        if options["segment"] is None:
            raise InvalidInputError('kind="context" attends to segments: give segment a number of tokens, not None')
        super().__init__(hidden, persistent=persistent, **options)
        self.persistent = nn.Parameter(torch.randn(persistent, hidden))
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.size: int = options["segment"]

    def after_attention(self, run: Attended) -> Tensor:
        hidden, out = run.hidden, run.out
        recalled, before, after = self.recall(hidden)
        call = self._call()
        rotary = run.position_embeddings
        both = None if rotary is None else torch.stack(rotary, -2).expand(len(hidden), -1, -1, -1)
        real = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device)
        real = real if call.store_mask is None else call.store_mask
        tokens = SegmentState(hidden, recalled.to(hidden.dtype), both, real)
        if before.segment is not None:
            tokens = before.segment.joined(tokens)
        call.after[self._slot] = after.with_segment(tokens, self.size)

        def attend(read: Tensor, mask: Tensor, rotary: Tensor | None) -> Tensor:
            positions = {} if rotary is None else {"position_embeddings": rotary.unbind(-2)}
            done: tuple[Tensor, ...] = run.attention.forward(hidden_states=read, attention_mask=mask, **positions)
            return done[0]

        again = attend_with_memory(tokens, self.persistent, self.size, attend)[:, -hidden.shape[1] :]
        return out + torch.tanh(self.bias).to(out.dtype) * (again - out)


PLACEMENTS: dict[str, type[Placement]] = {
    "gate": MemoryAsGate,
    "context": MemoryAsContext,
    "layer": MemoryAsLayer,
    "retrieval": RetrievalAsGate,
}
