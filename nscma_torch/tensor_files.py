"""Reads safetensors files, with one error for a file that is not there and one for a file that holds something else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from nscma_torch.errors import ModelError, ModelNotFoundError


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


def all_tensors(file: Any) -> dict[str, Tensor]:
    """Every tensor of an open file, by name."""
    return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
