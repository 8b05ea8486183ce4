"""Attach a memory to a Hugging Face decoder: gate, context or layer (Titans, Behrouz et al. 2025, section 4), or
retrieval.

Shape legend: B streams, T tokens, D hidden size of the decoder.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self, get_args
from uuid import uuid4

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from nscma_torch.core.errors import InvalidInputError, ModelError, described
from nscma_torch.neural.adapter_files import read_adapter, write_adapter
from nscma_torch.neural.decoder_layers import Decoder, has_adapters
from nscma_torch.neural.placements import PLACEMENTS, Kind, Placement
from nscma_torch.neural.streams import Call, MemoryStreams, keep_with, streams_of

NAME = "nscma_memory"  # the submodule of the model while attached


class AttachedMemory(nn.Module):
    """The memories inside a model, created by `attach_memory` or `from_pretrained`. A submodule of the model until
    `detach`.

    The model is called and generates as before. Its weights are frozen, and `parameters()` here returns the trainable
    ones.

    *State.* The memories' state is kept with the key-value cache. A call without a cache starts with empty memories and
    forgets them. A call that returns or takes `past_key_values` keeps the memories with that cache, also in `generate`:
    a prompt gives the same result in one call or token by token, beam search reorders both, and a copy of the cache
    restores an earlier state. Inside `with memory.session() as streams:`, every call, with or without a cache,
    continues the same streams, so pass each token once and in order. Padding (zeros in a two-dimensional
    `attention_mask`) is not stored, but padding on the left occupies positions in segments and chunks. If a row isn't
    padded by a multiple of the segment, its segments begin at different tokens, and its result may differ from that of
    the same prompt alone.

    *PEFT and accelerate.* Existing PEFT adapters train together with the memory. PEFT freezes all parameters except its
    own, including the memory's if PEFT is applied later. The memory becomes trainable again at the first call of
    `parameters()` here or of the model, so pass both `model.parameters()` and these parameters to the optimizer. Attach
    the memory after `cpu_offload`, not before.

    *Training.* Gradient checkpointing with `use_reentrant=False`, accelerate and DistributedDataParallel work as for
    the model alone; `torch.compile(model)` gives the same numbers. Assisted generation, which takes back tokens, and a
    static cache, which hides the padding, are refused. The model's own `save_pretrained` would also write the memory,
    so detach the memory before calling it.
    """

    def __init__(self, model: nn.Module, settings: dict[str, Any]) -> None:
        super().__init__()
        decoder = Decoder.of(model)
        if any(isinstance(module, AttachedMemory) for module in model.modules()):
            raise InvalidInputError("the model already has a memory: call detach() before attaching another")
        kind, layers = settings["kind"], settings["layers"]
        if kind not in PLACEMENTS:
            raise InvalidInputError(f"kind must be one of {', '.join(get_args(Kind))}, got {kind!r}")
        chosen = decoder.choose(layers)
        self.settings = {**settings, "layers": chosen}
        if kind == "context":
            decoder.check_context(model)
        options = {name: value for name, value in settings.items() if name not in ("kind", "layers")}
        placed = [PLACEMENTS[kind](decoder.hidden, **options) for _ in chosen]
        for block, index in zip(placed, chosen, strict=True):
            block.to(decoder.device(index))
        self.blocks = nn.ModuleDict({str(index): block for index, block in zip(chosen, placed, strict=True)})
        self._key = uuid4().hex
        self._session: MemoryStreams | None = None
        self._model, self._trained = [model], []  # lists: no submodule
        self._has_adapters = has_adapters(model)
        if not self._has_adapters:  # else what trains are the adapters
            self._trained = [p for p in model.parameters() if p.requires_grad]
        for parameter in self._trained:
            parameter.requires_grad_(False)
        model.add_module(NAME, self)
        self._handles = self._hook(decoder)

    @contextmanager
    def session(self, streams: MemoryStreams | None = None) -> Iterator[MemoryStreams]:
        """Make all calls of the model inside the context continue the same streams: new streams, or those from an
        earlier session.

        Raises `InvalidInputError` inside another session, for streams read by another memory, and after `detach`.
        """
        self._check_attached()
        if self._session is not None:
            raise InvalidInputError("a session is already open: leave it before opening another")
        if streams is not None and streams.owner != self._key:
            raise InvalidInputError("these streams were read by another memory")
        self._session = MemoryStreams(self._key) if streams is None else streams
        try:
            yield self._session
        finally:
            self._session = None

    def detach(self) -> nn.Module:
        """Remove all hooks and this module, restoring the original model, and return the model.

        Raises `InvalidInputError` if the memory is already detached.
        """
        self._check_attached()
        model = self._model.pop()
        for handle in self._handles:
            handle.remove()
        delattr(model, NAME)
        for parameter in () if has_adapters(model) else self._trained:
            parameter.requires_grad_(True)
        self._handles, self._trained = [], []
        return model

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        """Yield the trainable parameters."""
        self._train_beside_adapters()
        return super().parameters(recurse)

    def _train_beside_adapters(self) -> None:
        """Unfreeze the memory, once, after PEFT was applied later and froze it."""
        if self._has_adapters or not self._model or any(own.requires_grad for own in super().parameters()):
            return
        if has_adapters(self._model[0]):
            self._has_adapters = True
            self.requires_grad_(True)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write `memory.safetensors` and `memory_config.json`: only the memories, not the model."""
        self._check_attached()
        write_adapter(Path(folder), self._model[0], self.settings, self.state_dict())

    @classmethod
    def from_pretrained(cls, model: nn.Module, folder: str | Path) -> Self:
        """Attach a memory written by `save_pretrained`.

        Raises:
            ModelNotFoundError: the folder or a file in it is missing.
            ModelError: the folder contains something else, or a memory for another base model.
        """
        settings, tensors = read_adapter(Path(folder), model)
        try:
            memory = cls(model, settings)
        except (TypeError, KeyError) as error:
            raise ModelError(f"{folder} does not contain an attached memory: {error}") from error
        try:
            memory.to(next(iter(tensors.values())).dtype).load_state_dict(tensors)
        except RuntimeError as error:
            memory.detach()
            raise ModelError(f"the tensors in {folder} do not fit their configuration: {error}") from error
        return memory

    def _hook(self, decoder: Decoder) -> list[RemovableHandle]:
        """Add hooks. The call's state is passed with the layers' arguments, so that a checkpointed layer is rerun
        identically.
        """
        handles = [
            decoder.stack.register_forward_pre_hook(self._begin, with_kwargs=True),
            decoder.stack.register_forward_hook(self._end, with_kwargs=True),
        ]
        for index, layer in enumerate(decoder.layers):
            if str(index) not in self.blocks:
                handles.append(layer.register_forward_pre_hook(_without_call, with_kwargs=True))
                continue
            block = self.blocks[str(index)]
            assert isinstance(block, Placement)
            handles += block.hook(layer, decoder.attentions[index], self.settings["layers"].index(index))
        return handles

    def _check_attached(self) -> None:
        if not self._model:
            raise InvalidInputError("the memory is not attached")

    def _begin(self, stack: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        self._train_beside_adapters()
        if any(own.is_meta for own in super().parameters()):
            raise InvalidInputError("the memory was offloaded with the model: attach it after cpu_offload, not before")
        given = inspect.signature(stack.forward).bind_partial(*args, **kwargs).arguments
        given = {**given.pop("kwargs", {}), **given}
        tokens = given.get("input_ids") if given.get("input_ids") is not None else given.get("inputs_embeds")
        if tokens is None:
            return args, kwargs  # the model's own error follows
        batch, length = tokens.shape[:2]
        streams = self._streams(given.get("past_key_values"))
        if streams.batch not in (None, batch):
            raise InvalidInputError(
                f"the memory has read {streams.batch} streams and this call has {batch}: give the same streams in the"
                " same order, or choose with streams.select(rows), each row once for each beam or sample, or start with"
                " streams.reset()"
            )
        states = streams.states or [
            block.init_state(batch) for block in self.blocks.values() if isinstance(block, Placement)
        ]
        call = Call(list(states), _store_mask(given.get("attention_mask"), batch, length), streams)
        return args, {**kwargs, "memory_call": call}

    def _streams(self, cache: Any) -> MemoryStreams:
        kept = None if cache is None else streams_of(cache)
        if kept is None and cache is not None and cache.get_seq_length():
            raise InvalidInputError(
                "past_key_values contains tokens that the memory has not read: start with a new cache"
            )
        if kept is not None and (kept.owner != self._key or self._session not in (None, kept)):
            raise InvalidInputError("past_key_values was filled for another memory or session: start with a new cache")
        return self._session or kept or MemoryStreams(self._key)

    def _end(self, _stack: nn.Module, _args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        call: Call = kwargs["memory_call"]
        call.streams.states = [call.after[index] for index in range(len(call.before))]
        cache = getattr(output, "past_key_values", None)
        cache = kwargs.get("past_key_values") if cache is None else cache
        if cache is not None:
            keep_with(cache, call.streams)


def attach_memory(
    model: nn.Module,
    layers: Sequence[int] | Literal["all"] = "all",
    kind: Kind = "gate",
    *,
    dim: int | None = None,
    reach: int = 2,
    persistent: int = 4,
    heads: int = 1,
    expansion: float = 4,
    depth: int = 2,
    segment: int = 64,
    chunk: int | None = None,
    norm: bool = True,
    max_step: float = 1.0,
    k: int = 32,
    capacity: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> AttachedMemory:
    """Attach a memory to layers of a transformers decoder: a `NeuralMemory` or searchable keys and values.

    Supported are Llama, Mistral, Qwen, Phi, Gemma, OPT, GPT-2, GPT-NeoX and decoders with the same structure: one list
    of layers, each with an attention, that receive the decoder's keyword arguments (not Falcon, BLOOM, MPT, GPT-J).

    The model is changed in place and at first computes exactly the same as before. Its weights are frozen and may be
    quantised (for example, to 4-bit NF4 by bitsandbytes). The trainable parameters are the result's `.parameters()`.

    Args:
        layers: indexes of the layers, or "all".
        kind: "gate" (MAG): attention + sigmoid(a rms(attention) + b) m, with a and b of D numbers. "layer" (MAL): the
            memory before the attention; the layer reads h + m. "context" (MAC): the layer attends once more, to
            [persistent tokens, m of the segment, segment], and the difference is added through a gate of D numbers. It
            needs attention "sdpa" or "eager". "retrieval" (Memorizing Transformers): as "gate", but m is attention to
            the k nearest keys of all earlier segments, found exactly; `MemoryStreams.delete` deletes tokens by their
            numbers. The projection of m, or the gate for "context", is initially 0.
        dim: width of the memory; by default D, but at most 256.
        reach: number of tokens, ending with the token itself, from which a token's key and query are computed.
        persistent: number of learned tokens before every segment, for "context" only.
        heads: see `NeuralMemory`; of the next arguments, "retrieval" uses only `heads` and `segment`.
        expansion: see `NeuralMemory`.
        depth: see `NeuralMemory`.
        segment: see `NeuralMemory`; also the segment length for "context".
        chunk: see `NeuralMemory`.
        norm: see `NeuralMemory`.
        max_step: see `NeuralMemory`.
        k: number of keys that a token attends to, for "retrieval" only.
        capacity: number of newest tokens kept per stream, a multiple of the segment, or None for all; for "retrieval"
            only.
        dtype: dtype of the memory's parameters, float32 or bfloat16. The state is always float32.

    Raises:
        ModelError: the model is not a supported decoder.
        InvalidInputError: an argument is invalid, or the model already has a memory.
    """
    if not isinstance(model, nn.Module):
        raise InvalidInputError(f"model must be a torch.nn.Module, got {described(model)}")
    if dtype not in (torch.float32, torch.bfloat16):
        raise InvalidInputError(f"dtype must be torch.float32 or torch.bfloat16, got {dtype}")
    sizes = {"dim": dim, "reach": reach, "persistent": persistent, "heads": heads, "expansion": expansion}
    settings = {"kind": kind, "layers": layers, **sizes, "depth": depth, "segment": segment, "chunk": chunk}
    settings |= {"norm": norm, "max_step": max_step, "k": k, "capacity": capacity}
    return AttachedMemory(model, settings).to(dtype)


def _without_call(_layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return args, {name: value for name, value in kwargs.items() if name != "memory_call"}


def _store_mask(mask: Any, batch: int, length: int) -> Tensor | None:
    if mask is None:
        return None
    if not isinstance(mask, Tensor) or mask.ndim != 2 or mask.shape[0] != batch or mask.shape[1] < length:
        raise InvalidInputError(
            "an attached memory needs attention_mask as [B, tokens so far], zeros for padding and ones: it cannot see"
            " the padding in a mask of another shape, as generation with a static cache makes it"
        )
    mask = mask[:, -length:].bool()
    return None if bool(mask.all()) else mask
