"""Encode questions with all-MiniLM-L6-v2 and low-rank updates learned on labelled questions about conversations.

Only the questions of a search are encoded with the updates, so stored vectors stay those of the published model. A
question then lies nearer to statements that answer it in other words ("Who looks after my teeth?"). The updates are
trained by `train/queries`.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from pathlib import Path

import torch

from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.errors import ModelError
from nscma_torch.core.protocols import Embedder
from nscma_torch.core.tensor_files import all_tensors, open_tensors
from nscma_torch.text.embedders.embedder import precision
from nscma_torch.text.embedders.low_rank import LAYERS, LowRank, add_changes
from nscma_torch.text.embedders.minilm import MiniLM
from nscma_torch.text.embedders.minilm_embedder import FINGERPRINT, MiniLMEmbedder

WEIGHTS = Path(__file__).with_name("weights") / "questions.safetensors"


def question_embedder(embedder: Embedder, section: EmbedderConfig, device: torch.device) -> Embedder | None:
    """Return the embedder of a search's questions, or None if they are embedded by the store's own embedder.

    It is loaded once per process.

    Raises:
        ModelNotFoundError: the updates are missing.
        ModelError: the file doesn't contain updates of this encoder.
    """
    if section.questions == "plain" or embedder.fingerprint != FINGERPRINT:
        return None
    return _shared(section.batch_size, device, precision(section.dtype, device))


@lru_cache(maxsize=4)
def _shared(batch_size: int, device: torch.device, dtype: torch.dtype) -> Embedder:
    return MiniLMEmbedder(device=device, batch_size=batch_size, dtype=dtype, change=add_trained_updates)


@torch.no_grad()
def add_trained_updates(encoder: MiniLM, path: Path = WEIGHTS) -> None:
    """Add the trained updates to an encoder's weights in float32: W + B A (Hu et al. 2021, equation 3).

    Raises:
        ModelNotFoundError: the file is missing.
        ModelError: the file doesn't contain updates of this encoder.
    """
    missing = f"the updates for questions are missing: {path}; install nscma-torch again"
    with open_tensors(path, "updates for questions", missing=missing) as file:
        weights = all_tensors(file)
    linear = {f"layers.{i}.{name}": getattr(layer, name) for i, layer in enumerate(encoder.layers) for name in LAYERS}
    rank = min((min(weight.shape, default=0) for weight in weights.values()), default=0)
    shapes = {f"{name}.a": (rank, module.in_features) for name, module in linear.items()}
    shapes |= {f"{name}.b": (module.out_features, rank) for name, module in linear.items()}
    if {name: tuple(weight.shape) for name, weight in weights.items()} != shapes:
        raise ModelError(f"{path} has updates of another encoder; train it again with train/queries")
    for name, module in linear.items():
        change = weights[f"{name}.b"].float() @ weights[f"{name}.a"].float()
        module.weight = torch.nn.Parameter(module.weight + change, requires_grad=False)


def with_updates(published: MiniLM, rank: int) -> MiniLM:
    """Return a copy of an encoder with trainable updates, initially zero; the copy shares its embedding tables."""
    encoder = copy.copy(published)
    encoder._modules = {**published._modules, "layers": copy.deepcopy(published.layers)}
    add_changes(encoder, rank)
    return encoder


def updates(encoder: MiniLM) -> dict[str, torch.Tensor]:
    """Return the parameters of an encoder's updates by name."""
    changed = ((name, module) for name, module in encoder.named_modules() if isinstance(module, LowRank))
    return {f"{name}.{part}": getattr(module, part) for name, module in changed for part in ("a", "b")}
