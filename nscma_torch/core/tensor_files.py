"""Read and write safetensors files, with clear errors for a missing or wrong file."""

from __future__ import annotations

import json
import math
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
    """Open a safetensors file for reading tensors on the CPU; build the object from them inside the `with` block.

    Args:
        holding: the expected content, for the error message, such as "a NeuralMemory".
        missing: the error message if the file is missing; it says what to do.

    Raises:
        ModelNotFoundError: the file is missing.
        ModelError: not a safetensors file, or tensors are missing or have the wrong shape.
    """
    if not Path(path).is_file():
        raise ModelNotFoundError(missing)
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelError(f"{path} does not contain {holding}: {error}") from error


def save_module(module: nn.Module, path: str | Path, **about: Any) -> None:
    """Write a module's state to a safetensors file; `about` is stored as JSON in its metadata."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()}
    save_file(tensors, path, metadata={name: json.dumps(value) for name, value in about.items()})


def all_tensors(file: Any) -> dict[str, Tensor]:
    """Return all tensors in an open file, keyed by name."""
    return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping


def elements(path: str | Path) -> int:
    """Return the number of elements of all tensors in a safetensors file, without reading them."""
    with safe_open(path, framework="pt") as file:
        shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118 - not a mapping
    return sum(math.prod(shape) for shape in shapes)
