"""The presets of `configs/papers`, as the tests of their equations read them."""

from __future__ import annotations

from pathlib import Path

from nscma_torch.core.config import Config, load_config

FOLDER = Path(__file__).parents[2] / "configs" / "papers"
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))


def preset(name: str) -> Config:
    """By its name, as a user gives it."""
    return load_config(f"papers/{name}")
