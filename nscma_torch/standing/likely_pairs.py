"""Choose the pairs of messages that are worth reading for effects, by their vectors.

Reading a pair costs a thousand times more than this logistic regression, which was fitted to what the reader finds in
pairs of similar messages (`train/reader/train_pairs.py`). On chats by development authors, the likeliest .4 of the
pairs hold .92 of the effects.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor, nn

from nscma_torch.core.tensor_files import all_tensors, open_tensors, save_module

BUNDLED = Path(__file__).parents[1] / "reading" / "weights" / "pairs.safetensors"


class LikelyPairs(nn.Module):
    """Logistic regression on two messages' unit vectors.

    Args:
        dimension: dimension d of the vectors.
        embedder: fingerprint of the embedder used in training.
    """

    threshold: Tensor

    def __init__(self, dimension: int, embedder: str) -> None:
        super().__init__()
        self.embedder = embedder
        self.dimension = dimension
        self.layer = nn.Linear(4 * dimension, 1)
        self.register_buffer("threshold", torch.zeros(()))

    def forward(
        self,
        earlier: Tensor,  # [n, d]
        later: Tensor,  # [n, d]
    ) -> Tensor:  # [n]
        """Return the logit of an effect of each later message on the earlier one."""
        logits: Tensor = self.layer(features(earlier, later))
        return logits[:, 0]

    @torch.no_grad()
    def likely(self, earlier: Tensor, later: Tensor) -> Tensor:  # [n] bool
        """Return True for each pair that is worth reading; shapes are those of `forward`."""
        found: Tensor = self(earlier, later) >= self.threshold
        return found

    def save(self, path: Path) -> None:
        """Write the weights, the threshold and the embedder's fingerprint to one safetensors file."""
        save_module(self, path, likely_pairs={"dimension": self.dimension, "embedder": self.embedder})

    @classmethod
    def load(cls, path: Path = BUNDLED) -> LikelyPairs:
        """Load weights written by `save`, or the bundled ones.

        Raises:
            ModelNotFoundError: the file is missing.
            ModelError: the file has another version.
        """
        missing = f"no weights for likely pairs of messages at {path}: train them with train/reader/train_pairs.py"
        with open_tensors(path, "weights for likely pairs of messages of this version", missing=missing) as file:
            about = json.loads(file.metadata()["likely_pairs"])
            pairs = cls(about["dimension"], about["embedder"])
            pairs.load_state_dict(all_tensors(file))
        return pairs.eval().requires_grad_(False)


def features(earlier: Tensor, later: Tensor) -> Tensor:
    """Return the input of the regression, [n, 4d], for vectors of shape [n, d]."""
    return torch.cat([8 * earlier * later, 2 * (earlier - later).abs(), 2 * later, 2 * earlier], 1)
