"""Locate the layers of a Hugging Face decoder by their attention, to attach a memory to them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from nscma_torch.core.errors import InvalidInputError, ModelError

ATTENTIONS = ("self_attn", "attn", "attention", "self_attention")  # names of the attention of a layer
CLOSED = ("bloom", "codegen", "falcon", "gpt_neo", "gptj", "mpt")  # their decoders keep keyword arguments from layers
SUPPORTED = "Llama, Mistral, Qwen, Phi, Gemma, OPT, GPT-2, GPT-NeoX and decoders of transformers built like them"


@dataclass(frozen=True)
class Decoder:
    """A stack of decoder layers, with each layer's self-attention and the hidden size."""

    stack: nn.Module
    layers: nn.ModuleList
    attentions: list[nn.Module]
    hidden: int

    @classmethod
    def of(cls, model: nn.Module) -> Decoder:
        """Return the only decoder in a model: a list of layers, each with an attention, in a module that keeps a cache.

        Raises `ModelError` if there is no decoder or more than one, or if its layers aren't supported.
        """
        found = [
            (stack, layers, attentions)
            for stack in model.modules()
            for layers in stack.children()
            if isinstance(layers, nn.ModuleList) and (attentions := _attentions(layers))
        ]
        config: Any = getattr(model, "config", None)
        if hasattr(config, "get_text_config"):
            config = config.get_text_config()
        hidden = getattr(config, "hidden_size", None)
        reason = None
        if len(found) != 1 or getattr(config, "is_encoder_decoder", False):
            reason = f"{len(found)} lists of layers that all have an attention were found, one is needed"
        elif not {"input_ids", "past_key_values"} <= _parameters(found[0][0]):
            reason = f"{type(found[0][0]).__name__} reads no input_ids with past_key_values"
        elif getattr(config, "model_type", None) in CLOSED:
            reason = f"{type(found[0][0]).__name__} does not pass its keyword arguments on to its layers"
        elif not isinstance(hidden, int):
            reason = "its config has no hidden_size"
        if reason is not None:
            raise ModelError(
                f"a memory cannot be attached to {type(model).__name__}: {reason}; it goes into {SUPPORTED}"
            )
        assert isinstance(hidden, int)
        return cls(*found[0], hidden)

    def device(self, index: int) -> torch.device:
        """Return the device on which a layer computes. Raises `ModelError` if its weights aren't loaded."""
        weights = next(self.layers[index].parameters()).device
        if weights.type != "meta":
            return weights
        hooks = (getattr(module, "_hf_hook", None) for module in self.layers[index].modules())
        devices = (getattr(hook, "execution_device", None) for hook in hooks)
        device: Any = next((one for one in devices if one is not None), None)  # of accelerate, which loads them there
        if device is None:
            raise ModelError(
                f"the weights of layer {index} are on the meta device: load them before attaching a memory"
            )
        return torch.device(device)

    def choose(self, layers: Sequence[int] | Literal["all"]) -> list[int]:
        """Return the indexes of the chosen layers in ascending order. Negative indexes count from the end.

        Raises `InvalidInputError` if there are no indexes, duplicates, or indexes out of range.
        """
        number = len(self.layers)
        if isinstance(layers, str):
            if layers != "all":
                raise InvalidInputError(f"layers must be 'all' or a list of indexes, got {layers!r}")
            return list(range(number))
        if not isinstance(layers, list | tuple | range) or not all(isinstance(layer, int) for layer in layers):
            raise InvalidInputError(f"layers must be 'all' or a list of indexes, got {layers!r}")
        wrong = [layer for layer in layers if not -number <= layer < number]
        chosen = sorted({layer % number for layer in layers})
        if wrong or not chosen or len(chosen) < len(layers):
            raise InvalidInputError(f"layers must be different indexes below {number}, got {[*layers]}")
        return chosen

    def check_context(self, model: nn.Module) -> None:
        """Raise `ModelError` if the attention can't be called again on a segment with its own mask."""
        attention = self.attentions[0]
        given = _parameters(attention)
        implementation = getattr(getattr(model, "config", None), "_attn_implementation", None)
        if not {"hidden_states", "attention_mask"} <= given or {"position_embeddings", "position_ids"} & given == {
            "position_ids"
        }:
            raise ModelError(
                f"kind='context' needs an attention that takes hidden_states and attention_mask, and its rotary"
                f" embedding as position_embeddings; {type(attention).__name__} takes {sorted(given)}: use kind='gate'"
            )
        if implementation not in ("sdpa", "eager"):
            raise ModelError(
                f"kind='context' needs an attention that runs as 'sdpa' or 'eager'; {type(attention).__name__} runs as"
                f" {implementation!r}: load the model with attn_implementation='sdpa', or use kind='gate'"
            )


def has_adapters(model: nn.Module) -> bool:
    """Return True if a model has PEFT adapters in its layers."""
    return any(type(module).__module__.startswith("peft.") for module in model.modules())


def _attentions(layers: nn.ModuleList) -> list[nn.Module]:
    """Return the self-attention of each layer, or an empty list if any layer has none."""
    found = [[getattr(layer, name, None) for name in ATTENTIONS] for layer in layers]
    chosen = [next((part for part in parts if isinstance(part, nn.Module)), None) for parts in found]
    return [] if None in chosen else [part for part in chosen if part is not None]


def _parameters(module: nn.Module) -> set[str]:
    return set(inspect.signature(module.forward).parameters)
