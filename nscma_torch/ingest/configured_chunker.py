"""Build the configured chunker."""

from __future__ import annotations

from collections.abc import Callable

import torch

from nscma_torch.core.config import ChunkerConfig
from nscma_torch.core.protocols import Embedder, SurpriseModel
from nscma_torch.surprise.measurement import nats_per_byte
from nscma_torch.text.chunker import Chunker
from nscma_torch.text.segmentation import Segmentation


def configured_chunker(
    section: ChunkerConfig, embedder: Embedder, surprise_model: Callable[[], SurpriseModel]
) -> Chunker:
    """Build the chunker for an embedder; `surprise_model` returns the model that the strategy "surprise" uses."""
    limit = min(section.max_tokens or embedder.max_tokens, embedder.max_tokens)
    segmentation = None
    if section.strategy == "surprise":
        segmentation = Segmentation(
            lambda text: _surprise(surprise_model(), text), section.gamma, section.window, section.min_tokens
        )
    return Chunker(embedder.count_tokens, limit, section.overlap_sentences, section.strategy, segmentation)


def _surprise(surprise_model: SurpriseModel, text: str) -> torch.Tensor:
    """Return the surprise in nats for each byte of a text read on its own, and for its end."""
    score = surprise_model.score([[text]], [None])[0]
    if score.ends is None:
        return score.nll[0]
    return nats_per_byte(score.nll[0], score.ends[0], len(text.encode()) + 1)
