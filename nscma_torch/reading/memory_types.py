"""Classify the kind of content in a sentence, using a linear layer over its vector and cues.

The layer was trained with `train/records/train_types.py` on English sentences written for this project.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import torch
from torch import Tensor, nn

from nscma_torch.core.errors import VectorError
from nscma_torch.core.records import MemoryType
from nscma_torch.core.tensor_files import all_tensors, open_tensors, save_module
from nscma_torch.reading.cues import WEIGHTS, find_cues

SOLVED = "solved"  # a problem that the sentence says to be solved
CLASSES: tuple[str, ...] = (*get_args(MemoryType), SOLVED)
CUES = tuple(WEIGHTS)
_SCALE = 0.5  # of the cues' counts beside a unit vector; best of .2, .3 and .5 in cross-validation
BUNDLED = Path(__file__).with_name("weights") / "types.safetensors"


class MemoryTypes(nn.Module):
    """Logistic regression on unit vectors [n, d] and the logarithms of the counts of `CUES`.

    Args:
        dimension: vector dimension d.
        embedder: fingerprint of the embedder used in training; vectors from another embedder can't be classified.
    """

    def __init__(self, dimension: int, embedder: str) -> None:
        super().__init__()
        self.embedder = embedder
        self.dimension = dimension
        self.layer = nn.Linear(dimension + len(CUES), len(CLASSES))

    def forward(self, features: Tensor) -> Tensor:
        """Return logits [n, classes] for `features` [n, d + cues]."""
        logits: Tensor = self.layer(features)
        return logits

    def features(self, texts: Sequence[str], vectors: Tensor) -> Tensor:
        """Build the classifier's input [n, d + cues] from texts and their vectors.

        Raises `VectorError` if d is wrong.
        """
        if vectors.ndim != 2 or vectors.shape[1] != self.dimension:
            raise VectorError(
                f"memory types need vectors of shape [n, {self.dimension}] from {self.embedder}, got shape "
                f"{[*vectors.shape]}"
            )
        found = [find_cues(text) for text in texts]
        counts = [[_SCALE * math.log1p(own.get(cue, 0)) for cue in CUES] for own in found]
        weight = self.layer.weight
        cues = torch.tensor(counts, device=weight.device, dtype=weight.dtype).reshape(len(texts), len(CUES))
        return torch.cat([vectors.to(weight.device, weight.dtype), cues], 1)

    @torch.no_grad()
    def probabilities(self, texts: Sequence[str], vectors: Tensor) -> Tensor:
        """Return the probability of each of `CLASSES`, shape [n, classes], on the CPU."""
        logits: Tensor = self(self.features(texts, vectors))
        return logits.softmax(-1).cpu()

    def save(self, path: Path) -> None:
        """Write the weights and the embedder's fingerprint to one safetensors file."""
        described = {"dimension": self.dimension, "embedder": self.embedder, "classes": CLASSES, "cues": CUES}
        save_module(self, path, memory_types=described)

    @classmethod
    def load(cls, path: str | Path = BUNDLED) -> MemoryTypes:
        """Load weights written by `save`, or the bundled ones.

        Raises:
            ModelNotFoundError: the file is missing.
            ModelError: the file has another version.
        """
        missing = f"no weights for the types of memories at {path}: train them with train/records/train_types.py"
        with open_tensors(path, "weights for the types of memories of this version", missing=missing) as file:
            described = json.loads(file.metadata()["memory_types"])
            if (tuple(described["classes"]), tuple(described["cues"])) != (CLASSES, CUES):
                raise ValueError("its classes or cues differ from this version's; train it again")
            types = cls(described["dimension"], described["embedder"])
            types.load_state_dict(all_tensors(file))
        return types.eval().requires_grad_(False)
