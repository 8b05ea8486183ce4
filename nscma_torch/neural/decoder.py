"""Where a memory goes in a Hugging Face decoder: its stack of layers, found by what they have, not by their names."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from nscma_torch.errors import InvalidInputError, ModelError


@dataclass(frozen=True)
class Decoder:
    """A stack of decoder layers, each with a `self_attn`, and their hidden size."""

    stack: nn.Module
    layers: nn.ModuleList
    hidden: int

    @classmethod
    def of(cls, model: nn.Module) -> Decoder:
        """The one decoder of a model such as Llama, Mistral or Qwen.

        Raises ModelError where there is none, or more than one.
        """
        stacks = [
            (module, layers)
            for module in model.modules()
            if isinstance(layers := getattr(module, "layers", None), nn.ModuleList)
            and len(layers)
            and all(isinstance(getattr(layer, "self_attn", None), nn.Module) for layer in layers)
        ]
        config: Any = getattr(model, "config", None)
        if hasattr(config, "get_text_config"):
            config = config.get_text_config()
        hidden = getattr(config, "hidden_size", None)
        if len(stacks) != 1 or not isinstance(hidden, int) or getattr(config, "is_encoder_decoder", False):
            raise ModelError(
                f"a memory cannot be attached to {type(model).__name__}: it needs a decoder of transformers with one"
                f" list `layers` whose items each have a `self_attn`, and a config.hidden_size: Llama, Mistral, Qwen,"
                f" ...; {len(stacks)} such lists were found"
            )
        return cls(*stacks[0], hidden)

    def choose(self, layers: Sequence[int] | Literal["all"]) -> list[int]:
        """Indexes of layers, counted from the end where negative, in ascending order.

        Raises InvalidInputError for none, for one named twice, and for one that the decoder does not have.
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
        """Raise ModelError where the attention cannot be called once more on a segment with a mask of its own."""
        needed = {"hidden_states", "attention_mask", "position_embeddings"}
        attention: Any = self.layers[0].self_attn
        missing = needed - set(inspect.signature(attention.forward).parameters)
        implementation = getattr(getattr(model, "config", None), "_attn_implementation", None)
        if missing or implementation not in ("sdpa", "eager"):
            raise ModelError(
                f"kind='context' needs an attention with the arguments {sorted(needed)} that runs as 'sdpa' or 'eager';"
                f" {type(attention).__name__} runs as {implementation!r}"
                + (f" and lacks {sorted(missing)}" if missing else "")
                + ": load the model with attn_implementation='sdpa', or use kind='gate'"
            )
