"""A learned head that predicts from a message's vector whether something in it will be asked about later.

Cues are words from a list; the vector also reflects meaning that the list doesn't cover. The head is trained by
`train/gate/train_gate.py` on synthetic dialogues in which it is known what is needed later, without benchmarks or human
labels.
"""

from __future__ import annotations

import json
import math
from importlib import resources
from pathlib import Path

import torch
from torch import Tensor, nn

from nscma_torch.core.errors import VectorError
from nscma_torch.core.tensor_files import all_tensors, open_tensors, save_module

WIDTH = 16  # units of the bottleneck
MOST = 4.0  # log-odds that the head never exceeds: nothing is that sure
STEP = 0.25  # of the log-odds: an embedder's rounding must not show in a decision


class SalienceHead(nn.Module):
    """A bottleneck perceptron, d -> WIDTH -> 1, on unit vectors.

    Args:
        dimension: d, the dimension of the vectors.
        embedder: fingerprint of the embedder that computed the vectors. The head can't read vectors from another
            embedder.
    """

    def __init__(self, dimension: int, embedder: str) -> None:
        super().__init__()
        self.embedder = embedder
        self.dimension = dimension
        self.inner = nn.Linear(dimension, WIDTH)
        self.outer = nn.Linear(WIDTH, 1)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the log-odds [...] that the message behind each unit vector [..., d] is needed later."""
        hidden = nn.functional.gelu(self.inner(vectors * self.dimension**0.5))
        odds: Tensor = self.outer(hidden).squeeze(-1)
        return odds

    @torch.no_grad()
    def log_odds(self, vectors: Tensor) -> list[float]:
        """Return the log-odds for messages with unit vectors [n, d], limited to `MOST`, in steps of `STEP`.

        Raises `VectorError` for vectors with another dimension.
        """
        if vectors.ndim != 2 or vectors.shape[1] != self.dimension:
            raise VectorError(
                f"the salience head reads vectors [n, {self.dimension}] of {self.embedder}, got {[*vectors.shape]}: "
                "pass these, or none"
            )
        weight = self.inner.weight
        odds = self(vectors.to(weight.device, weight.dtype)).clamp(-MOST, MOST)
        found: list[float] = ((odds / STEP).round() * STEP).tolist()
        return found

    def importance(self, vectors: Tensor) -> list[float]:
        """Return the probability, in [0, 1], that each message with unit vectors [n, d] is needed later."""
        return [1 / (1 + math.exp(-odds)) for odds in self.log_odds(vectors)]

    def save(self, path: Path) -> None:
        """Write the weights, with the fingerprint of their embedder, to a safetensors file."""
        described = {"dimension": self.dimension, "embedder": self.embedder}
        save_module(self, path, salience_head=described)

    @classmethod
    def load(cls, path: str | Path | None = None) -> SalienceHead:
        """Load weights written by `save`, or the bundled ones.

        Raises:
            ModelNotFoundError: the file is missing.
            ModelError: the file doesn't contain this head.
        """
        if path is None:
            with resources.as_file(resources.files("nscma_torch.surprise") / "weights" / "salience.safetensors") as own:
                return cls.load(own)
        missing = f"no weights of a salience head at {path}: train them with train/gate/train_gate.py"
        with open_tensors(path, "weights of a salience head", missing=missing) as file:
            described = json.loads(file.metadata()["salience_head"])
            head = cls(described["dimension"], described["embedder"])
            head.load_state_dict(all_tensors(file))
        return head.eval().requires_grad_(False)
