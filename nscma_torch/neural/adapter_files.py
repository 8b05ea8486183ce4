"""Read and write an attached memory: `memory.safetensors`, and `memory_config.json` with its settings and
base model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nscma_torch.core.errors import ModelError, ModelNotFoundError

WEIGHTS, CONFIG = "memory.safetensors", "memory_config.json"


def base_of(model: nn.Module) -> dict[str, Any]:
    """Return the properties of a model that must match before a memory can be attached to it."""
    config: Any = model.config
    if hasattr(config, "get_text_config"):
        config = config.get_text_config()
    names = ("model_type", "hidden_size", "num_hidden_layers", "vocab_size")
    return {name: getattr(config, name, None) for name in names}


def write_adapter(folder: Path, model: nn.Module, settings: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write both files, the configuration last."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}, folder / WEIGHTS)
    text = json.dumps({"base": base_of(model), "memory": settings}, indent=2)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def read_adapter(folder: Path, model: nn.Module) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read the settings and tensors for this model, with tensors on the CPU.

    Raises:
        ModelNotFoundError: a file is missing.
        ModelError: a file contains something else, or the memory was trained in another base model.
    """
    for name in (WEIGHTS, CONFIG):
        if not (folder / name).is_file():
            raise ModelNotFoundError(f"no {name} in {folder}: create it with save_pretrained of an attached memory")
    try:
        written = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        base, settings = written["base"], written["memory"]
        tensors = load_file(folder / WEIGHTS)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder} does not contain an attached memory: {error}") from error
    if base != base_of(model):
        raise ModelError(f"the memory in {folder} was trained in base model {base}, but this one is {base_of(model)}")
    return settings, tensors
