"""safetensors files: written for a module, and read with one error for a missing file and one for a wrong one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from nscma_torch.core.errors import ModelError, ModelNotFoundError


@contextmanager
def open_tensors(path: str | Path, holding: str, *, missing: str) -> Iterator[Any]:
    """A safetensors file, open for reading onto the CPU; build what is loaded from it inside the block.

    Args:
        holding: what it must hold, for the error; "a NeuralMemory".
        missing: the message where there is no such file; it says what to do.

    Raises:
        ModelNotFoundError: there is no such file.
        ModelError: it is no safetensors file, or lacks or misshapes what the block reads.
    """
    if not Path(path).is_file():
        raise ModelNotFoundError(missing)
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelError(f"{path} does not hold {holding}: {error}") from error


def save_module(module: nn.Module, path: str | Path, **about: Any) -> None:
    """Write a module's state as one safetensors file; `about`: what `metadata` of the open file gives back, as JSON."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()}
    save_file(tensors, path, metadata={name: json.dumps(value) for name, value in about.items()})


def all_tensors(file: Any) -> dict[str, Tensor]:
    """Every tensor of an open file, by name."""
    return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
