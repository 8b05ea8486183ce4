"""The bundled regression that chooses which pairs of messages are read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.errors import ModelNotFoundError
from nscma_torch.standing.likely_pairs import LikelyPairs
from nscma_torch.text.embedders.embedder import load_embedder


def test_a_change_is_likely_and_another_matter_is_not() -> None:
    pairs, embedder = LikelyPairs.load(), load_embedder(EmbedderConfig())
    assert pairs.embedder == embedder.fingerprint
    said = embedder.embed(["My job is at Lumora.", "I quit my job at Lumora.", "The lasagne was too salty."]).float()
    likely = pairs.likely(said[[0, 0]], said[[1, 2]])
    assert likely.tolist() == [True, False]


def test_weights_are_loaded_as_they_were_saved(tmp_path: Path) -> None:
    pairs = LikelyPairs(4, "an embedder")
    pairs.threshold.fill_(0.25)
    path = tmp_path / "pairs.safetensors"
    pairs.save(path)
    other = LikelyPairs.load(path)
    assert other.embedder == "an embedder" and other.threshold == 0.25
    assert torch.equal(other.layer.weight, pairs.layer.weight)
    with pytest.raises(ModelNotFoundError, match="train_pairs"):
        LikelyPairs.load(tmp_path / "nowhere")
