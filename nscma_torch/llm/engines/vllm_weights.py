"""Check the quantization configured for vLLM against the model's files before vLLM starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from nscma_torch.core.errors import ConfigError, ModelError

VllmQuantization = Literal["none", "awq", "gptq", "compressed-tensors", "bitsandbytes"]

BITSANDBYTES_PLUGIN = "vllm-bnb-plugin"  # vLLM 0.28 moved bitsandbytes out of its core into this package


def check_stored(model: str, folder: Path, quantization: VllmQuantization) -> None:
    """Raise `ConfigError` if a model's weights aren't stored in the format that `llm.quantization` requires.

    With "none", the files determine the format. "bitsandbytes" packs full-precision weights, and reads weights that it
    packed earlier.
    """
    stored = stored_quantization(folder)
    fitting = ("none", "bitsandbytes") if quantization == "bitsandbytes" else (quantization,)
    if quantization == "none" or stored in fitting:
        return
    if stored == "none":
        raise ConfigError(
            f"the weights of {model} are not quantized, but llm.quantization is {quantization!r}: set llm.model to a "
            f"checkpoint stored in {quantization}, or llm.quantization = 'bitsandbytes' to pack them while loading"
        )
    raise ConfigError(
        f"the weights of {model} are stored in {stored}, but llm.quantization is {quantization!r}: set "
        f"llm.quantization = 'none' to load them as stored, or llm.model to another checkpoint"
    )


def stored_quantization(folder: Path) -> str:
    """Return the quantization method in a model folder's config.json, or "none" if it has none.

    Raises `ModelError` if the file can't be read.
    """
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as JSON: {error}") from error
    config = config if isinstance(config, dict) else {}
    section = config.get("quantization_config") or config.get("compression_config")  # the second of older checkpoints
    if not isinstance(section, dict):
        return "none"
    return str(section.get("quant_method", "unknown"))
