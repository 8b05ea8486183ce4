"""Encode questions with all-MiniLM-L6-v2 and low-rank updates learned on labelled questions about conversations.

Only questions are encoded with the updates, so stored vectors stay those of the published model. Questions then lie
nearer to statements that answer them in other words ("Who looks after my teeth?"). Trained by `train/queries`.
"""

from __future__ import annotations

import copy
from pathlib import Path

import torch

from nscma_torch.core.errors import ModelError
from nscma_torch.core.tensor_files import all_tensors, open_tensors
from nscma_torch.text.embedders.low_rank import LowRank, add_changes, merge_changes
from nscma_torch.text.embedders.minilm import MiniLM

WEIGHTS = Path(__file__).with_name("weights") / "questions.safetensors"


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


@torch.no_grad()
def question_encoder(published: MiniLM, path: Path = WEIGHTS) -> MiniLM:
    """Return a copy of the published encoder with the trained updates merged.

    Raises:
        ModelNotFoundError: the file is missing.
        ModelError: the file doesn't hold updates of this encoder.
    """
    missing = f"the updates for questions are missing: {path}; install nscma-torch again"
    with open_tensors(path, "updates for questions", missing=missing) as file:
        weights = all_tensors(file)
        rank = int(file.metadata()["rank"])
    encoder = with_updates(published, rank)
    own = updates(encoder)
    if {n: p.shape for n, p in own.items()} != {n: w.shape for n, w in weights.items()}:
        raise ModelError(f"{path} has updates of another encoder; train it again with train/queries")
    for name, parameter in own.items():
        parameter.copy_(weights[name])
    merge_changes(encoder)
    return encoder.eval().requires_grad_(False)
