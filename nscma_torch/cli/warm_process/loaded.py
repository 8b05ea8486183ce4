"""The models that the warm process loaded, for the commands that it forks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nscma_torch.core.config_identity import ConfigIdentity, config_identity

if TYPE_CHECKING:
    from nscma_torch.core.protocols import Embedder, SurpriseModel


@dataclass(frozen=True, slots=True)
class LoadedModels:
    """Models of a configuration; `surprise_model` is None if a language engine serves it."""

    identity: ConfigIdentity
    embedder: Embedder
    surprise_model: SurpriseModel | None


_of_process: list[LoadedModels] = []


def keep(models: LoadedModels) -> None:
    """Give these models to the memories that this process and its forks open."""
    _of_process[:] = [models]


def models_for(config: Path | None) -> dict[str, Any]:
    """Return the loaded models as arguments of `Memory`; none if they weren't loaded for this configuration."""
    for models in _of_process:
        if models.identity == config_identity(config):
            return {"embedder": models.embedder, "surprise_model": models.surprise_model}
    return {}
