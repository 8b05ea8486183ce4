"""Recognise that a message asks to forget something that was said, and which earlier message it means.

Three linear layers on the reader's hidden states (Alain and Bengio 2016, arXiv:1610.01644), trained by
`train/forgetting`. A layer on the vector of the bundled embedder comes first: it passes one message in four, and
only these are read. English only.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from nscma_torch.core.locked_property import locked_cached_property
from nscma_torch.core.tensor_files import all_tensors, open_tensors, save_module
from nscma_torch.reading.mpnet_encoder import DIMENSION
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.text.scripts import script

BUNDLED = Path(__file__).with_name("weights") / "forget.safetensors"
SUSPECTED = 0.02  # least probability by the vector alone at which a message is read
LAYERS = (2, 3, 4)  # of the reader, from 0, whose mean states tell a request; the last one whether it means a message
# "Don't forget what I said" asks for the opposite, in nearly the same words: that is not left to the layers.
_KEPT = re.compile(
    r"\b(?:do\s+not|don['’]?t|never|mustn['’]?t|can['’]?t|won['’]?t|didn['’]?t)\s+(?:you\s+)?(?:ever\s+|please\s+)?"
    r"(?:forget|delete|erase|wipe|remove)\b",
    re.IGNORECASE,
)
_LONGEST = 2000  # characters of a message that are read


class ForgetLayers(nn.Module):
    """The linear layers, each of which returns a logit.

    Args:
        vector_dimension: dimension of the embedder's vectors.
        embedder: fingerprint of the embedder used in training.
    """

    def __init__(self, vector_dimension: int, embedder: str) -> None:
        super().__init__()
        self.embedder = embedder
        self.vector_dimension = vector_dimension
        self.suspected = nn.Linear(vector_dimension, 1)
        self.asked = nn.Linear(len(LAYERS) * DIMENSION, 1)
        self.meant = nn.Linear(3 * DIMENSION, 1)

    def save(self, path: Path) -> None:
        """Write the weights and the embedder's fingerprint to one safetensors file."""
        save_module(self, path, forget_requests={"dimension": self.vector_dimension, "embedder": self.embedder})

    @classmethod
    def load(cls, path: Path = BUNDLED) -> ForgetLayers:
        """Load weights written by `save`, or the bundled ones.

        Raises:
            ModelNotFoundError: the file is missing.
            ModelError: the file has another version.
        """
        missing = f"no weights for requests to forget at {path}: train them with train/forgetting/train_requests.py"
        with open_tensors(path, "weights for requests to forget of this version", missing=missing) as file:
            about = json.loads(file.metadata()["forget_requests"])
            layers = cls(about["dimension"], about["embedder"])
            layers.load_state_dict(all_tensors(file))
        return layers.eval().requires_grad_(False)


class ForgetRequests:
    """Classifies messages with the bundled reader.

    Args:
        reader: returns the reader; called when a message is suspected.
        embedder: fingerprint of the embedder of the vectors; if the layers were trained on another one, all messages
            are read.
    """

    def __init__(self, reader: Callable[[], Reader], embedder: Callable[[], str]) -> None:
        self.build_lock = threading.RLock()
        self._reader = reader
        self._embedder = embedder

    @locked_cached_property
    def layers(self) -> ForgetLayers:
        return ForgetLayers.load()

    def suspects(self, vectors: Tensor) -> bool:
        """Return True if a message may be a request, given the vectors of its chunks, [n, d]."""
        if self._embedder() != self.layers.embedder or not len(vectors):
            return True
        return bool(self.layers.suspected(vectors.float()).sigmoid().max() >= SUSPECTED)

    def asked(self, text: str) -> float:
        """Return the probability that a message asks to forget something that was said."""
        if script(text) != "latin" or _KEPT.search(text):
            return 0.0
        logit: Tensor = self.layers.asked(message_features(self._reader(), [text]))
        return logit.sigmoid().item()

    def meant(self, request: str, earlier: Sequence[str]) -> list[float]:
        """Return the probability of each earlier message that a request means it."""
        if not earlier:
            return []
        logits: Tensor = self.layers.meant(pair_features(self._reader(), request, earlier))[:, 0]
        return logits.sigmoid().tolist()


def message_features(reader: Reader, texts: Sequence[str]) -> Tensor:  # [n, 3d]
    """Return the mean hidden states of messages, in each of `LAYERS`."""
    passages = [[InputPassage(text[:_LONGEST])] for text in texts]
    states = reader.states([""] * len(texts), passages)
    return torch.stack([_mean(own.layers[list(LAYERS)], own.passage).flatten() for own in states])


def pair_features(reader: Reader, request: str, earlier: Sequence[str]) -> Tensor:  # [n, 3d]
    """Return the last layer's states of each earlier message read with a request: the first token's, and the means of
    both.
    """
    passages = [[InputPassage(request[:_LONGEST])]] * len(earlier)
    features = []
    for own in reader.states([text[:_LONGEST] for text in earlier], passages):
        last = own.layers[-1:]
        features.append(torch.cat([last[0, 0], _mean(last, own.mask & ~own.passage)[0], _mean(last, own.passage)[0]]))
    return torch.stack(features)


def _mean(
    states: Tensor,  # [layers, L, d]
    of: Tensor,  # [L] bool
) -> Tensor:  # [layers, d]
    return states[:, of].mean(1)
