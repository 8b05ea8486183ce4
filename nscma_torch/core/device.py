"""The configured device."""

from __future__ import annotations

import torch

from nscma_torch.core.errors import ConfigError


def torch_device(name: str) -> torch.device:
    """Return the torch device for a configured name; 'auto' is CUDA if available, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"device {name!r} is unknown to torch; use 'auto', 'cpu' or 'cuda'") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device {name!r} is configured, but torch sees no CUDA device; use 'auto' or 'cpu'")
    return device
