"""Compute the memory that a language or embedding model needs from its configuration, without loading it.

The model is built on torch's `meta` device, where tensors have shapes but no memory, so every architecture known to
transformers is counted correctly. 4-bit weights are counted as the engine stores them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import torch
from torch import nn

from nscma_torch.core.errors import ModelError
from nscma_torch.core.extras import require
from nscma_torch.text.embedders.model_folder import model_folder

Quantization = Literal["none", "nf4", "awq", "gptq", "compressed-tensors", "bitsandbytes"]

_LLAMA_3 = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128_256,
    "tie_word_embeddings": False,
}
# config.json of models that a plan is often asked for, as their authors published it.
PUBLISHED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "meta-llama/Meta-Llama-3-8B-Instruct": {**_LLAMA_3, "max_position_embeddings": 8192},
        "meta-llama/Llama-3.1-8B-Instruct": {**_LLAMA_3, "max_position_embeddings": 131_072},
        "casperhansen/llama-3-8b-instruct-awq": {**_LLAMA_3, "max_position_embeddings": 8192},
        "TechxGenus/Meta-Llama-3-8B-Instruct-GPTQ": {**_LLAMA_3, "max_position_embeddings": 8192},
        "BAAI/bge-m3": {
            "model_type": "xlm-roberta",
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "vocab_size": 250_002,
            "max_position_embeddings": 8194,
            "type_vocab_size": 1,
        },
    }
)

_BLOCK, _OUTER_BLOCK = 64, 256  # weights of one scale, and scales of one scale of scales (QLoRA, section 3)
_CODES = 4 * (16 + 256) + 4  # tables of both levels and the mean of the scales, float32
_STORED_GROUP = 128  # weights of a stored 4-bit checkpoint that share a half-precision scale and a 4-bit zero point


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Properties of a model that are needed for a memory plan.

    Attributes:
        weights: bytes taken by all parameters and buffers.
        parameters: number of parameters; tied parameters count once.
        cache_per_token: bytes taken by the keys and values for one token; 0 if the model caches none.
        working_per_token: bytes taken by the widest activations for one token in a batch.
        dimension: dimension of the hidden states, which for an embedder is also the dimension of its vectors.
        context: maximum tokens; None if not given in the configuration.
        vocabulary: number of logits per token; 0 if none.
    """

    weights: int
    parameters: int
    cache_per_token: int
    working_per_token: int
    dimension: int
    context: int | None
    vocabulary: int = 0


def config_of(model: str) -> Mapping[str, Any]:
    """Return a model's configuration: the published one if known here, or from its folder or the local Hugging Face
    cache.

    Raises `ModelNotFoundError` if it is missing, and `ModelError` if config.json is invalid.
    """
    if model in PUBLISHED:
        return PUBLISHED[model]
    path = model_folder(model, kind="model", purpose="its memory plan") / "config.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(found, dict) or "model_type" not in found:
        raise ModelError(f"{path} has no model_type, so it is not a transformers configuration")
    return found


def model_shape(
    config: Mapping[str, Any],
    *,
    kind: Literal["language", "embedding"],
    dtype: torch.dtype = torch.bfloat16,
    quantization: Quantization = "none",
) -> ModelShape:
    """Return the shape of the model described by a configuration, with unquantized weights in `dtype`.

    "nf4" is 4-bit NormalFloat with double-quantized scales, in transformers. "bitsandbytes" is the same in vLLM, which
    undoes the double quantization and keeps float32 scales. "awq", "gptq" and "compressed-tensors" use groups of 128.
    None of them quantizes the embeddings and the head.

    Raises `ModelError` if transformers can't build a model from the configuration.
    """
    transformers = require("transformers", extra="hf", purpose="the memory plan of a model")
    fields = {name: value for name, value in config.items() if name not in ("model_type", "quantization_config")}
    auto = transformers.AutoModelForCausalLM if kind == "language" else transformers.AutoModel
    try:
        described = transformers.AutoConfig.for_model(config["model_type"], **fields)
        with torch.device("meta"):
            model = auto.from_config(described)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelError(f"transformers cannot build this model from its configuration: {error}") from error
    packed = _packed(model) if quantization != "none" else frozenset()
    itemsize = torch.empty(0, dtype=dtype).element_size()
    parameters = {id(weight): weight for weight in model.parameters()}
    weights = sum(
        _four_bits(weight.numel(), quantization) if place in packed else weight.numel() * itemsize
        for place, weight in parameters.items()
    )
    weights += sum(buffer.numel() * buffer.element_size() for buffer in model.buffers())
    text = described.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    width = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return ModelShape(
        weights=weights,
        parameters=sum(weight.numel() for weight in parameters.values()),
        cache_per_token=2 * text.num_hidden_layers * heads * width * itemsize if kind == "language" else 0,
        working_per_token=(4 * text.hidden_size + 2 * text.intermediate_size) * itemsize,
        dimension=text.hidden_size,
        context=getattr(text, "max_position_embeddings", None),
        vocabulary=text.vocab_size if kind == "language" else 0,
    )


def _packed(model: Any) -> frozenset[int]:
    """Return the ids of the weights that 4-bit quantization packs: those in all linear layers except the head."""
    head = model.get_output_embeddings()
    linear = (module for module in model.modules() if isinstance(module, nn.Linear) and module is not head)
    return frozenset(id(module.weight) for module in linear)


def _four_bits(size: int, quantization: Quantization) -> int:
    """Return the bytes that a matrix with `size` weights takes in 4 bits, including its scales."""
    if quantization in ("awq", "gptq", "compressed-tensors"):
        return size // 2 + -(-size // _STORED_GROUP) * 5 // 2
    scales = -(-size // _BLOCK)
    if quantization == "bitsandbytes":
        return -(-size // 2) + 4 * scales + 4 * 16
    return -(-size // 2) + scales + 4 * -(-scales // _OUTER_BLOCK) + _CODES
